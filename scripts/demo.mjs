// `npm run demo`: set-up, then the demo with the options given. Its help needs nothing installed. Plain JavaScript, as set-up.
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./toolchain.mjs"

if (process.argv.includes("--help")) {
  process.stdout.write(readFileSync(join(root, "src/programs/demo/usage.txt"), "utf8"))
} else {
  const setup = spawnSync(process.execPath, [join(root, "scripts/setup.mjs")], { stdio: "inherit" })
  if (setup.status === 0) {
    process.argv.splice(2, 0, join(root, "src/programs/demo/main.ts"))
    await import("./node.mjs")
  } else {
    process.exitCode = setup.status ?? 1
  }
}
