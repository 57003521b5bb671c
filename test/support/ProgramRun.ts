// Runs the project's programs as a person does, from `bin`, and gives back what they said.
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { hostEnvironment } from "../../src/programs/HostEnvironment.ts"

export const project = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
export const binary = (name: string): string => join(project, "bin", name)

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  readonly millis: number
}

/** The program's whole environment is the path, a home of its own and what is given. */
export const run = (program: string, args: ReadonlyArray<string>, options: {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  readonly input?: string
} = {}): Effect.Effect<Ended> =>
  Effect.async<Ended>((resume) => {
    const startedAt = performance.now()
    const child = spawn(process.execPath, [program, ...args], {
      cwd: options.cwd ?? "/",
      env: { PATH: hostEnvironment["PATH"] ?? "", HOME: "/nonexistent", ...options.env },
      stdio: ["pipe", "pipe", "pipe"]
    })
    let stdout = ""
    let stderr = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text))
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text))
    child.stdin.on("error", () => {})
    child.stdin.end(options.input ?? "")
    child.on("close", (code) => resume(Effect.succeed({ code, stdout, stderr, millis: performance.now() - startedAt })))
    return Effect.sync(() => child.kill("SIGKILL"))
  })

export const parsed = (text: string): unknown => JSON.parse(text)
