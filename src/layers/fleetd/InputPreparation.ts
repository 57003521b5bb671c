// Makes the next input of a context: collects, renders, puts into files what is too large, and stores it as prepared.
// It runs only while no turn of the context runs and nothing else is open there.
import { Effect, Option } from "effect"
import { type Checkpoint, isUnfinished } from "../../domain/Checkpoint.ts"
import {
  byteLength,
  encodeManifest,
  type ManifestEntry,
  manifestName,
  manifestOf,
  planFiles,
  renderFiled,
  renderManifestAlone
} from "../../domain/FiledInput.ts"
import type { FleetAgent } from "../../domain/FleetAgent.ts"
import type { HistoryPosition } from "../../domain/History.ts"
import { type ContextKey, DeliveryId } from "../../domain/Ids.ts"
import { type BatchInput, renderBatch, renderContinue, renderNotice, renderReminder } from "../../domain/InputText.ts"
import type { Level } from "../../domain/Level.ts"
import { CoveredEvent, type CursorMove, Publication, type PublicationKind } from "../../domain/Publication.ts"
import { Artifacts } from "../../services/Artifacts.ts"
import { type Collected, Collector } from "../../services/Collector.ts"
import type { LeaseStamp } from "../../services/CrossfireClient.ts"
import { DirectInputs } from "../../services/DirectInputs.ts"
import { Publications } from "../../services/Publications.ts"
import type { KnownRedactions } from "../../services/Redactions.ts"
import { nextUuid } from "./Uuids.ts"

/** Items that one input takes; the rest waits for the next. */
const maxItemsPerInput = 50

const nothing: Collected = { records: [], rooms: [], moves: [], failedRooms: [] }

export const make = (config: { readonly maxInputBytes: number }) =>
  Effect.gen(function*() {
    const artifacts = yield* Artifacts
    const collector = yield* Collector
    const inputs = yield* DirectInputs
    const publications = yield* Publications

    const blank = (
      kind: PublicationKind,
      agent: FleetAgent,
      context: ContextKey,
      level: Level,
      position: HistoryPosition,
      deliveryId: DeliveryId,
      text: string
    ) => ({
      deliveryId,
      agentId: agent.agentId,
      context,
      kind,
      state: "prepared" as const,
      text,
      authorityRevision: level.authorityRevision,
      position,
      runId: null,
      bootId: null,
      turnId: null,
      failures: 0,
      inherits: null,
      moves: [],
      events: [],
      items: []
    })

    const newDelivery = Effect.map(nextUuid, (id) => DeliveryId.make(id))

    /** The complete input as its text; where that is too large, as private files with a compact text in its place. */
    const inlineOrFiles = (agent: FleetAgent, input: BatchInput, moves: ReadonlyArray<CursorMove>) =>
      Effect.gen(function*() {
        const text = renderBatch(input)
        if (byteLength(text) <= config.maxInputBytes) return text
        const { agentId } = agent
        const { deliveryId } = input
        const entries: Array<ManifestEntry> = []
        let textBytes = 0
        for (const planned of planFiles(input, moves)) {
          const { name } = planned.entry
          const { bytes, sha256 } = yield* artifacts.write({ agentId, deliveryId, name, text: planned.text })
          entries.push({ ...planned.entry, bytes, sha256 })
          textBytes += planned.textBytes
        }
        const manifest = manifestOf(input, entries, textBytes)
        const file = yield* artifacts.write({
          agentId,
          deliveryId,
          name: manifestName,
          text: encodeManifest(manifest)
        })
        const compact = renderFiled(input, manifest, file)
        return byteLength(compact) <= config.maxInputBytes ? compact : renderManifestAlone(manifest, file)
      })

    /** Answers false where nothing could be collected: an empty collection makes no input. */
    const batch = (
      stamp: LeaseStamp,
      agent: FleetAgent,
      context: ContextKey,
      level: Level,
      wakes: boolean,
      position: HistoryPosition,
      redactions: KnownRedactions
    ) =>
      Effect.gen(function*() {
        const items = yield* inputs.waiting(agent.agentId, context, maxItemsPerInput)
        const collecting = wakes ? collector.collect(stamp, agent, level) : Effect.succeed(nothing)
        // Rooms that cannot be read hold up no item: these need nothing from there.
        const collected = yield* items.length === 0 ? collecting : Effect.catchTag(
          collecting,
          "CrossfireUnavailable",
          "CredentialRefused",
          (failed) => Effect.as(Effect.logWarning(failed.message), nothing)
        )
        for (const failed of collected.failedRooms) {
          yield* Effect.logWarning("a room could not be read").pipe(
            Effect.annotateLogs({ agent: agent.name, room: failed.roomId, reason: failed.reason })
          )
        }
        if (collected.records.length + items.length === 0) return false
        const deliveryId = yield* newDelivery
        const input: BatchInput = {
          deliveryId,
          agentName: agent.name,
          rooms: collected.rooms,
          records: collected.records,
          items
        }
        const text = yield* inlineOrFiles(agent, input, collected.moves)
        yield* publications.prepare(
          new Publication({
            ...blank("batch", agent, context, level, position, deliveryId, text),
            redactionsKnown: redactions.noted,
            moves: collected.moves,
            events: collected.records.map(({ eventId, roomId }) => new CoveredEvent({ roomId, eventId })),
            items: items.map((item) => item.operationId)
          })
        )
        return true
      })

    const reminder = (agent: FleetAgent, context: ContextKey, level: Level, position: HistoryPosition) =>
      Effect.gen(function*() {
        const deliveryId = yield* newDelivery
        const text = renderReminder(deliveryId, agent.name)
        yield* publications.prepare(
          new Publication(blank("reminder", agent, context, level, position, deliveryId, text))
        )
      })

    const goOn = (agent: FleetAgent, context: ContextKey, level: Level, position: HistoryPosition) =>
      Effect.gen(function*() {
        const deliveryId = yield* newDelivery
        const text = renderContinue(deliveryId, agent.name)
        yield* publications.prepare(
          new Publication(blank("continue", agent, context, level, position, deliveryId, text))
        )
      })

    /** The notice for an unknown input: it points to the exact text and inherits what that input would have moved. */
    const notice = (
      agent: FleetAgent,
      context: ContextKey,
      level: Level,
      position: HistoryPosition,
      earlier: Publication,
      checkpoint: Option.Option<Checkpoint>,
      redactions: KnownRedactions
    ) =>
      Effect.gen(function*() {
        const deliveryId = yield* newDelivery
        const file = yield* artifacts.write({
          agentId: agent.agentId,
          deliveryId,
          name: "earlier-input.txt",
          text: earlier.text
        })
        const text = renderNotice({
          deliveryId,
          agentName: agent.name,
          earlier: earlier.deliveryId,
          file,
          reminderDue: Option.exists(checkpoint, isUnfinished)
        })
        yield* publications.prepare(
          new Publication({
            ...blank("notice", agent, context, level, position, deliveryId, text),
            // Of what is noted and not wiped yet, the earlier text may still have been whole.
            redactionsKnown: redactions.wiped,
            inherits: earlier.deliveryId
          })
        )
      })

    return { batch, reminder, goOn, notice }
  })

export type InputPreparation = Effect.Effect.Success<ReturnType<typeof make>>
