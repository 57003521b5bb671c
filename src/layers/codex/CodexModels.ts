// What the installed Codex offers to choose from. Codex itself takes any model and effort and passes it on.
import { Effect } from "effect"
import { ModelOffer } from "../../domain/Engine.ts"
import type { EngineGone } from "../../services/NativeEngine.ts"
import { ModelListResult } from "./CodexProtocol.ts"
import type { CodexWire, RequestRefused } from "./CodexWire.ts"

const deadline = "30 seconds"
const pageModels = 100
const maxPages = 20

// Hidden ones can be chosen as well: they only do not show in Codex's own picker.
const pageAt = (wire: CodexWire, cursor: string | null) =>
  wire.request("model/list", { includeHidden: true, limit: pageModels, cursor }, ModelListResult, deadline)

export const list = (wire: CodexWire): Effect.Effect<ReadonlyArray<ModelOffer>, RequestRefused | EngineGone> =>
  Effect.gen(function*() {
    const offers: Array<ModelOffer> = []
    let cursor: string | null = null
    for (let page = 0; page < maxPages; page++) {
      const found: typeof ModelListResult.Type = yield* pageAt(wire, cursor)
      for (const { isDefault, model, supportedReasoningEfforts } of found.data) {
        const efforts = supportedReasoningEfforts.map(({ reasoningEffort }) => reasoningEffort)
        offers.push(new ModelOffer({ model, efforts, isDefault }))
      }
      cursor = found.nextCursor
      if (cursor === null) break
    }
    return offers
  })
