// Which turn runs in a Pi session, and what its events mean for the caller. Pure: state and record in, state and events out.
import type { DeliveryId } from "../../domain/Ids.ts"
import { TurnId } from "../../domain/Ids.ts"
import type { EngineEvent } from "../../services/NativeEngine.ts"
import { type PiEvent, type PiMessage, visibleText } from "./PiRecords.ts"

/** Pi names no turns: one submitted input is one turn, and the delivery names it. */
export const turnIdOf = (deliveryId: DeliveryId): TurnId => TurnId.make(`pi:${deliveryId}`)

export type PiTurn =
  | { readonly _tag: "Idle" }
  /** From right before the input is sent until Pi has settled. `last` is the latest assistant message. */
  | {
    readonly _tag: "Running"
    readonly deliveryId: DeliveryId
    readonly reported: boolean
    readonly last: PiMessage | null
  }

export const idle: PiTurn = { _tag: "Idle" }

const errorMaxLength = 500

/** An engine's own words on one line, cut short, without what may be a key: providers quote keys in their refusals. */
export const harmless = (words: string): string =>
  words.replace(/[\p{Cc}\s]+/gu, " ").replace(/[\w+/=.-]{24,}/gu, "[…]").trim().slice(0, errorMaxLength)

/** Where Pi puts the provider's status, in front of its words: `… API error (401): …` or `401: …`. */
const statusInFront = /^(?:[^():\n]{1,100} \(([45]\d\d)\):|([45]\d\d)[: ])/u

/** The kind and status only: the provider's own words may quote the input. */
const failureOf = ({ errorMessage, stopReason }: PiMessage): string => {
  switch (stopReason) {
    case undefined:
      return "the model gave no answer"
    case "length":
      return "the answer reached the model's output limit"
    case "error": {
      const [, behindName, bare] = statusInFront.exec(errorMessage ?? "") ?? []
      const status = behindName ?? bare
      return status === undefined ? "the provider failed" : `the provider failed (HTTP ${status})`
    }
    default:
      return "the answer ended in an unknown way"
  }
}

type Ended = Extract<EngineEvent, { readonly _tag: "TurnEnded" }>

const endOf = (turnId: TurnId, aborted: boolean, last: PiMessage | null): Ended => {
  const end = (status: Ended["status"], error: string | null): Ended => ({ _tag: "TurnEnded", turnId, status, error })
  if (aborted || last?.stopReason === "aborted") return end("interrupted", null)
  if (last?.stopReason === "stop" || last?.stopReason === "toolUse") return end("completed", null)
  return end("failed", failureOf(last ?? { role: "assistant" }))
}

/** What an event does to the turn, and what the caller is told. Nothing that Pi does by itself is anybody's turn. */
export const advance = (turn: PiTurn, event: PiEvent): readonly [PiTurn, ReadonlyArray<EngineEvent>] => {
  if (turn._tag === "Idle") return [turn, []]
  const turnId = turnIdOf(turn.deliveryId)
  switch (event.type) {
    // Pi starts anew for each automatic retry; for the caller it is one turn.
    case "agent_start":
      return turn.reported ? [turn, []] : [{ ...turn, reported: true }, [{ _tag: "TurnStarted", turnId }]]
    case "message_end": {
      if (event.message.role === "user") return [turn, [{ _tag: "UserEntrySeen" }]]
      if (event.message.role !== "assistant") return [turn, []]
      const text = visibleText(event.message)
      const output: ReadonlyArray<EngineEvent> = text.trim() === "" ? [] : [{ _tag: "Output", turnId, text }]
      return [{ ...turn, last: event.message }, output]
    }
    case "agent_settled":
      return [idle, [endOf(turnId, event.aborted, turn.last)]]
  }
}
