// What Codex reports of one thread, turned into engine events, with the turn that runs and the text that is under way.
// Pure but for its own state; notifications of other threads mean nothing here.
import { Option, Schema } from "effect"
import type { TurnId } from "../../domain/Ids.ts"
import type { EngineEvent } from "../../services/NativeEngine.ts"
import type { Notification } from "./CodexProtocol.ts"

/** A partial message is kept up to here; a complete one comes whole in its own notification. */
const maxPartialCharacters = 1024 * 1024

const decodeKinds = Schema.decodeUnknownOption(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
const decodeStatus = Schema.decodeUnknownOption(Schema.Struct({ httpStatusCode: Schema.Number }))

/** The kind and status only: the provider's own words may quote the input. Whatever the form, the turn has failed. */
const errorText = (info: unknown): string => {
  if (typeof info === "string") return info
  const [kind, detail] = Option.match(decodeKinds(info), { onNone: () => [], onSome: Object.entries })[0] ?? []
  if (kind === undefined) return "the engine names no cause"
  return Option.match(decodeStatus(detail), {
    onNone: () => kind,
    onSome: ({ httpStatusCode }) => `${kind} (HTTP ${httpStatusCode})`
  })
}

export interface CodexTurns {
  readonly concerns: (notification: Notification) => boolean
  /** The events that a notification means, in order. */
  readonly read: (notification: Notification) => ReadonlyArray<EngineEvent>
  /** What is under way when nothing more will come. No turn runs any more then. */
  readonly left: () => ReadonlyArray<EngineEvent>
  /** Reported as started and not as ended. */
  readonly running: () => TurnId | null
  /** Whether a turn runs or was asked for: another input now would be written into it. */
  readonly busy: () => boolean
  /** Marks an input as under way; the answer either names its turn or says that there is none. */
  readonly submitting: () => void
  readonly submitted: (turnId: TurnId | null) => void
}

export const make = (threadId: string): CodexTurns => {
  let running: TurnId | null = null
  let awaited: TurnId | "unnamed" | null = null
  let lastEnded: TurnId | null = null
  // Messages of one thread come one after the other, so one at most is under way.
  let partial: { readonly turnId: TurnId; readonly itemId: string; readonly text: string } | null = null

  // A message that an interrupt cut is nowhere else: neither in the history nor in a notification of its own.
  const cut = (): ReadonlyArray<EngineEvent> => {
    const left = partial
    partial = null
    return left === null || left.text === "" ? [] : [{ _tag: "Output", turnId: left.turnId, text: left.text }]
  }

  const concerns = ({ params }: Notification) => params.threadId === threadId

  const read = (notification: Notification): ReadonlyArray<EngineEvent> => {
    if (!concerns(notification)) return []
    const { method, params } = notification
    switch (method) {
      case "turn/started":
        running = params.turn.id
        if (awaited === "unnamed") awaited = running
        return [{ _tag: "TurnStarted", turnId: params.turn.id }]
      case "item/agentMessage/delta": {
        const { delta, itemId, turnId } = params
        const earlier = partial !== null && partial.itemId !== itemId ? cut() : []
        const text = partial?.text ?? ""
        if (text.length < maxPartialCharacters) partial = { turnId, itemId, text: text + delta }
        return earlier
      }
      case "item/completed": {
        const { item, turnId } = params
        if (item.type === "userMessage") return [{ _tag: "UserEntrySeen" }]
        if (!("text" in item)) return []
        if (partial?.itemId === item.id) partial = null
        return item.text === "" ? [] : [{ _tag: "Output", turnId, text: item.text }]
      }
      case "turn/completed": {
        const { error, id, status } = params.turn
        if (running === id) running = null
        if (awaited === id) awaited = null
        lastEnded = id
        const why = status === "failed" ? errorText(error?.codexErrorInfo) : null
        return [...cut(), { _tag: "TurnEnded", turnId: id, status, error: why }]
      }
      case "thread/closed":
      case "model/rerouted":
        return []
    }
  }

  return {
    concerns,
    read,
    left: () => {
      running = null
      awaited = null
      return cut()
    },
    running: () => running,
    busy: () => running !== null || awaited !== null,
    submitting: () => {
      awaited = "unnamed"
    },
    // The turn may have ended before its answer was looked at.
    submitted: (turnId) => {
      awaited = turnId === lastEnded ? null : turnId
    }
  }
}
