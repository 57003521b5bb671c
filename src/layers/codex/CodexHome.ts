// An agent's private CODEX_HOME: its settings, standing instructions and the link to the host's login, made anew at every
// activation. It owns no history: what Codex keeps in this folder is Codex's.
import { Effect } from "effect"
import { join } from "node:path"
import { EngineUnavailable } from "../../services/NativeEngine.ts"
import * as EngineHome from "../engine/EngineHome.ts"
import { type CodexSettings, configToml, instructionsFile } from "./CodexSettings.ts"

export const unavailable = (reason: string) => new EngineUnavailable({ engine: "codex", reason })

/** Makes the folder of this agent's Codex under its private home; returns its path. */
export const prepare = (settings: CodexSettings, home: string) =>
  Effect.gen(function*() {
    const codexHome = yield* EngineHome.make("codex", home)
    yield* EngineHome.write("codex", join(codexHome, "config.toml"), configToml(settings))
    yield* EngineHome.linkLogin("codex", codexHome, settings.hostLogin)
    return codexHome
  })

/** All contexts of an agent share its instructions, so one file serves them. */
export const writeInstructions = (settings: CodexSettings, codexHome: string, instructions: string) =>
  EngineHome.write("codex", join(codexHome, "AGENTS.md"), instructionsFile(settings, instructions))
