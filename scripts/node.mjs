// Runs a script under the project's Node: the machine's own when it is new enough, else the one set-up put into .tools.
// Everything that starts a program of this project goes through here, so there is one answer to "which Node?".
import { spawn } from "node:child_process"
import { constants } from "node:os"
import { projectNode } from "./toolchain.mjs"

const child = spawn(projectNode(), ["--disable-warning=ExperimentalWarning", ...process.argv.slice(2)], {
  stdio: "inherit"
})
// The child decides how to end: signals from a terminal reach the whole group, others are passed on.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (signal !== "SIGINT") child.kill(signal)
  })
}
child.on("exit", (code, signal) => {
  process.exitCode = signal === null ? (code ?? 1) : 128 + constants.signals[signal]
})
