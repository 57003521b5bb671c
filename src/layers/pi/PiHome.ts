// An agent's private folder for Pi: the link to the host's login, provider settings and standing instructions.
// It owns no session file.
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import type { ContextKey } from "../../domain/Ids.ts"
import * as EngineHome from "../engine/EngineHome.ts"

export interface PiHome {
  /** `PI_CODING_AGENT_DIR`. */
  readonly folder: string
  readonly sessionFolder: string
}

/** Makes the folder (0700) and what Pi reads from it. */
export const prepare = (
  home: string,
  config: { readonly loginFile: string | null; readonly modelsFile: string | null }
) =>
  Effect.gen(function*() {
    const folder = yield* EngineHome.make("pi", home)
    yield* EngineHome.linkLogin("pi", folder, config.loginFile)
    if (config.modelsFile !== null) yield* EngineHome.write("pi", join(folder, "models.json"), config.modelsFile)
    return { folder, sessionFolder: join(folder, "sessions") } satisfies PiHome
  })

/**
 * The standing instructions as a file, since an argument is limited to 128 KiB and shows in the process list.
 * One file per context: contexts of one agent run beside each other. `null` where there are none.
 */
export const writeInstructions = (home: PiHome, context: ContextKey, instructions: string) =>
  Effect.gen(function*() {
    if (instructions.trim() === "") return null
    const name = createHash("sha256").update(context).digest("hex").slice(0, 16)
    const path = join(home.folder, `instructions-${name}.md`)
    yield* EngineHome.write("pi", path, instructions)
    return path
  })

/** Equal wherever Pi reads the same login, provider settings and settings, which decide what it offers. A hash. */
export const offersSignature = (home: PiHome) =>
  Effect.forEach(["models.json", "auth.json", "settings.json"], (name) =>
    // Pi's first start writes an empty object where nothing was.
    Effect.orElseSucceed(Effect.tryPromise(() => readFile(join(home.folder, name), "utf8")), () => "{}")).pipe(
      Effect.map((contents) => createHash("sha256").update(contents.join("\0")).digest("hex"))
    )
