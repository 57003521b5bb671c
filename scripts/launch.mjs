// Starts one of the project's programs from its launcher in `bin`: under this Node when it is new enough, else under the
// project's own. Plain JavaScript for Node 20: it runs under whatever `node` is found first.
import { spawn } from "node:child_process"
import module from "node:module"
import { constants } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { isNewEnough, projectNode, root, tools } from "./toolchain.mjs"

/** Compiled code is kept here: about half of a command's start. */
const compileCache = join(tools, "compile-cache")

/** Node 22 warns of every TypeScript file that it runs. Other warnings are shown. */
const hushExperimental = () => {
  process.removeAllListeners("warning")
  process.on("warning", (warning) => {
    if (warning.name !== "ExperimentalWarning") process.stderr.write(`${warning.name}: ${warning.message}\n`)
  })
}

/** `launcher` is the file in `bin`: where another Node is needed, it is started again under that one. */
export const launch = async (program, launcher) => {
  if (isNewEnough(process.versions.node)) {
    hushExperimental()
    module.enableCompileCache?.(compileCache)
    await import(pathToFileURL(join(root, "src/programs", program)))
    return
  }
  const child = spawn(projectNode(), [launcher, ...process.argv.slice(2)], { stdio: "inherit" })
  // Signals from a terminal reach the whole group; others are passed on. The child decides how to end.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => {
      if (signal !== "SIGINT") child.kill(signal)
    })
  }
  child.on("error", (error) => {
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 1
  })
  child.on("exit", (code, signal) => {
    process.exitCode = signal === null ? (code ?? 1) : 128 + constants.signals[signal]
  })
}
