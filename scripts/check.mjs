// `npm run check`: format, lint (with the import rule) and types, in this order, each shown; `--fix` rewrites the format.
import { spawnSync } from "node:child_process"
import { dirname, join } from "node:path"
import { projectNode, root } from "./toolchain.mjs"

const fix = process.argv.includes("--fix")
const bin = (name) => join(root, "node_modules/.bin", name)
const env = { ...process.env, PATH: `${dirname(projectNode())}:${process.env.PATH}` }

const steps = [
  ["format", bin("dprint"), [fix ? "fmt" : "check"]],
  ["lint", bin("oxlint"), ["--deny-warnings", "src", "test", "migrations", "scripts"]],
  // The Effect diagnostics come from a build of the compiler that this command puts beside the plain one.
  ["compiler", bin("effect-tsgo"), ["patch"]],
  ["types", bin("tsc"), ["--project", join(root, "tsconfig.json")]],
  ["types of the web pages", bin("tsc"), ["--project", join(root, "src/web/tsconfig.json")]]
]

const failed = []
for (const [name, command, args] of steps) {
  const quiet = name === "compiler"
  const result = spawnSync(command, args, { cwd: root, stdio: quiet ? "pipe" : "inherit", env, encoding: "utf8" })
  if (result.status !== 0) {
    if (quiet) process.stderr.write(`${result.stdout}${result.stderr}`)
    failed.push(name)
  }
}
process.stdout.write(
  failed.length === 0 ? "check: format, lint and types are fine\n" : `check: failed: ${failed.join(", ")}\n`
)
process.exitCode = failed.length === 0 ? 0 : 1
