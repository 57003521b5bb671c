// Where the engines and their logins are on this machine unless `fleet.toml` says otherwise.
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import type { SettingsDefaults } from "../layers/fleetd/FleetSettings.ts"
import { hostEnvironment } from "./HostEnvironment.ts"

const project = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const engines = join(project, ".tools/engines/node_modules")
const codexPlatforms: Readonly<Record<string, string>> = {
  x64: "codex-linux-x64/vendor/x86_64-unknown-linux-musl",
  arm64: "codex-linux-arm64/vendor/aarch64-unknown-linux-musl"
}

export const settingsDefaults: SettingsDefaults = {
  codexProgram: join(engines, "@openai", codexPlatforms[process.arch] ?? "codex", "bin/codex"),
  codexLogin: join(homedir(), ".codex/auth.json"),
  piProgram: join(engines, "@earendil-works/pi-coding-agent/dist/bundle/cli.js"),
  piLogin: join(homedir(), ".pi/agent/auth.json"),
  nodePath: process.execPath,
  hostEnvironment
}
