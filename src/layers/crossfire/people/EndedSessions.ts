// Tells of sessions that have ended: open streams end, open lists are asked for again. To be run after the commit.
import { Effect } from "effect"
import { Changes } from "../../../services/Changes.ts"
import { Revocations } from "../../../services/Revocations.ts"
import type { EndedRow } from "./SessionRows.ts"

export const make = Effect.gen(function*() {
  const revocations = yield* Revocations
  const changes = yield* Changes

  return (ended: ReadonlyArray<EndedRow>) =>
    revocations.announce(ended.map(({ sessionId }) => ({ session: sessionId }))).pipe(
      Effect.zipRight(
        Effect.forEach(new Set(ended.map(({ userId }) => userId)), (userId) => changes.publish("sessions", userId), {
          discard: true
        })
      )
    )
})
