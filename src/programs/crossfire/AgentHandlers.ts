// The agent group of crossfire's contract: pages, acknowledgments, messages. Who acts is told by the credential alone.
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Effect } from "effect"
import { AgentPrincipal, CrossfireApi, type SendAnswer } from "../../domain/api/Crossfire.ts"
import { MessageRefused } from "../../domain/api/CrossfireErrors.ts"
import { Acknowledgments } from "../../services/Acknowledgments.ts"
import { FleetLeases } from "../../services/FleetLeases.ts"
import { Outbound, type OutboundState } from "../../services/Outbound.ts"
import { RoomPages } from "../../services/RoomPages.ts"
import { storeBusy } from "./BearerAuthorization.ts"
import { stampOf } from "./LeaseStamp.ts"

/** How long a message's event ID is waited for before the answer is `queued`. */
const sendWaitMillis = 10_000

const answerOf = (state: OutboundState): Effect.Effect<SendAnswer, MessageRefused> => {
  switch (state._tag) {
    case "Sent":
      return Effect.succeed({ status: "sent", eventId: state.eventId })
    case "Waiting":
      return Effect.succeed({ status: "queued" })
    case "Refused":
      return Effect.fail(new MessageRefused({ reason: `The homeserver refused the message: ${state.errcode}` }))
  }
}

export const agentHandlers = HttpApiBuilder.group(
  CrossfireApi,
  "agent",
  (handlers) =>
    Effect.gen(function*() {
      const leases = yield* FleetLeases
      const pages = yield* RoomPages
      const acknowledgments = yield* Acknowledgments
      const outbound = yield* Outbound

      return handlers
        .handle("page", ({ headers, payload }) =>
          Effect.gen(function*() {
            const { agentId, fleetId } = yield* AgentPrincipal
            yield* leases.require(fleetId, stampOf(headers))
            return yield* pages.read({ agentId, ...payload })
          }).pipe(Effect.catchTag("StoreFailed", storeBusy)))
        .handle("acknowledge", ({ headers, payload }) =>
          Effect.gen(function*() {
            const { agentId, fleetId } = yield* AgentPrincipal
            const levelNumber = yield* acknowledgments.accept({ agentId, fleetId, stamp: stampOf(headers) }, payload)
            return { levelNumber }
          }).pipe(Effect.catchTag("StoreFailed", storeBusy)))
        .handle("send", ({ headers, payload }) =>
          Effect.gen(function*() {
            const { agentId, fleetId, userId } = yield* AgentPrincipal
            const said = yield* outbound.say({ agentId, fleetId, stamp: stampOf(headers) }, payload)
            const state = said._tag === "Waiting"
              ? yield* outbound.settled(userId, payload.operationId, sendWaitMillis)
              : said
            return yield* answerOf(state)
          }).pipe(Effect.catchTag("StoreFailed", storeBusy)))
    })
)
