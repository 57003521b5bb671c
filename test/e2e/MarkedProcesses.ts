// Finds processes of one test by what the kernel tells of them: its folder in their command line, environment or working
// directory, and whether they are engines.
import { readdirSync, readFileSync, readlinkSync } from "node:fs"

interface Found {
  readonly processId: number
  /** Its words, parted by spaces. */
  readonly command: string
  readonly environment: ReadonlyArray<string>
}

const look = (entry: string): Found & { readonly workFolder: string } => ({
  processId: Number(entry),
  command: readFileSync(`/proc/${entry}/cmdline`, "latin1").replaceAll("\0", " ").trim(),
  environment: readFileSync(`/proc/${entry}/environ`, "latin1").split("\0"),
  workFolder: readlinkSync(`/proc/${entry}/cwd`)
})

/** Every other process that has to do with this folder. */
export const processesOf = (folder: string): ReadonlyArray<Found> =>
  readdirSync("/proc").filter((entry) => /^\d+$/u.test(entry) && Number(entry) !== process.pid).flatMap((entry) => {
    try {
      const found = look(entry)
      const names = [found.command, found.workFolder, ...found.environment]
      return names.some((name) => name.includes(folder)) ? [found] : []
    } catch {
      // Gone meanwhile, or a zombie.
      return []
    }
  })

/** Process IDs of the engines whose environment has the variable and names the folder. */
export const markedProcesses = (marker: string, folder: string): ReadonlyArray<number> =>
  processesOf(folder).flatMap(({ command, environment, processId }) => {
    const engine = command.includes("app-server") || command.includes("--mode")
    const ours = environment.some((line) => line.startsWith(`${marker}=`)) &&
      environment.some((line) => line.includes(folder))
    return engine && ours ? [processId] : []
  })
