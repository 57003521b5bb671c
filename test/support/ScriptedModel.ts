// Conveniences of tests around the scripted model: inputs in the rendered form, waiting for a request, the engines' homes.
import { Duration, Effect, Option, Stream } from "effect"
import { chmodSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { codexConfig, modelCatalog, piModels } from "../../src/layers/model/ModelCatalog.ts"
import type { RecordedRequest, ScriptedModel } from "../../src/layers/model/ScriptedModel.ts"

export interface MessageBlock {
  readonly eventId: string
  readonly text: string
  readonly roomId?: string
  readonly sender?: string
  readonly mark?: "wake" | "mention" | "context" | "own"
}

const quotedLines = (text: string) => text.split("\n").map((line) => `| ${line}`)

export const messageBlock = (
  { eventId, mark = "wake", roomId = "!room:test", sender = "@alice:test", text }: MessageBlock
): string =>
  [
    `── message ${eventId} in ${roomId} from ${sender} at 2026-11-30T12:00:00.000Z [${mark}]`,
    ...quotedLines(text)
  ].join("\n")

export const directBlock = (operationId: string, text: string): string =>
  [`── direct message ${operationId}`, ...quotedLines(text)].join("\n")

/** An input as the product renders it: the header line, then the blocks. */
export const inputOf = (...blocks: ReadonlyArray<string>): string =>
  ["⟦fleet delivery 5b0f7a52-6b1e-4c55-9f3e-1f0a3f8f4a01⟧ agent=test", ...blocks, ""].join("\n")

/** Waits until a recorded request fits; dies when none has come in time, since then the test's premise is wrong. */
export const awaitRequest = (
  model: ScriptedModel,
  fits: (request: RecordedRequest) => boolean,
  within: Duration.DurationInput = "20 seconds"
): Effect.Effect<RecordedRequest> =>
  model.requests.changes.pipe(
    Stream.filterMap((requests) => Option.fromNullable(requests.find(fits))),
    Stream.runHead,
    Effect.flatten,
    Effect.timeout(within),
    Effect.orDie
  )

const privateFolder = (folder: string) => {
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o700)
}

/** Writes `config.toml` and the model catalog into a `CODEX_HOME`; `more` is TOML that is put behind. */
export const writeCodexHome = (home: string, baseUrl: string, more = ""): Effect.Effect<void> =>
  Effect.sync(() => {
    privateFolder(home)
    const catalog = join(home, "models.json")
    writeFileSync(catalog, modelCatalog())
    writeFileSync(join(home, "config.toml"), `${codexConfig(baseUrl, catalog)}\n${more}`)
  })

/** Writes `models.json` into a `PI_CODING_AGENT_DIR`. */
export const writePiHome = (home: string, baseUrl: string): Effect.Effect<void> =>
  Effect.sync(() => {
    privateFolder(home)
    writeFileSync(join(home, "models.json"), piModels(baseUrl))
  })
