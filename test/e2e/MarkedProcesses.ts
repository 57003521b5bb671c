// Finds engine processes of one test by their environment: those that carry the run marker and belong to its folder.
import { readdirSync, readFileSync } from "node:fs"

/** Process IDs whose environment has the variable and whose command line or environment names the folder. */
export const markedProcesses = (marker: string, folder: string): ReadonlyArray<number> =>
  readdirSync("/proc").filter((entry) => /^\d+$/u.test(entry)).flatMap((entry) => {
    try {
      const environment = readFileSync(`/proc/${entry}/environ`, "latin1")
      const command = readFileSync(`/proc/${entry}/cmdline`, "latin1")
      const engine = command.includes("app-server") || command.includes("--mode")
      const ours = environment.split("\0").some((line) => line.startsWith(`${marker}=`)) && environment.includes(folder)
      return engine && ours ? [Number(entry)] : []
    } catch {
      return []
    }
  })
