// The right of a person to start agents, where it ends and where it begins again. Runs in the transaction that deactivates
// or reactivates the person: whatever is decided after it knows.
import { Clock, Effect, Schema } from "effect"
import { selects } from "../../../domain/Decision.ts"
import { AgentId, RoomId, UserId } from "../../../domain/Ids.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import { LevelChanges } from "../../../services/LevelChanges.ts"
import { WakePolicies } from "../../../services/WakePolicies.ts"
import * as Senders from "../Senders.ts"

const decodeOpen = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  agent_id: AgentId,
  room_id: RoomId,
  sender: UserId
})))
const decodeAgents = Schema.decodeUnknown(Schema.Array(Schema.Struct({ agent_id: AgentId })))

export const make = Effect.gen(function*() {
  const { sql } = yield* CrossfireDb
  const policies = yield* WakePolicies
  const changes = yield* LevelChanges
  const senders = yield* Senders.make

  const open = sql.literal("kind IN ('wake', 'mention') AND closed_as IS NULL")

  /**
   * Closes the open wakes that this person's messages made, and those of their agents that are selected by nothing but
   * their owner; in rooms, too, that the woken agent has left. Reactivation revives none of them.
   */
  const withdraw = (userId: UserId) =>
    Effect.gen(function*() {
      const wakes = yield* decodeOpen(
        yield* sql`SELECT DISTINCT agent_id, room_id, sender FROM decision
          WHERE ${open} AND (sender = ${userId} OR sender IN (SELECT user_id FROM agent WHERE owner = ${userId}))`
      )
      const senderOf = yield* senders.among(wakes.map((wake) => wake.sender))
      const nowMillis = yield* Clock.currentTimeMillis
      yield* Effect.forEach(wakes, ({ agent_id, room_id, sender }) =>
        Effect.gen(function*() {
          const policy = yield* policies.inRoom(agent_id, room_id)
          if (selects(policy.selections, senderOf(sender))) return
          yield* sql`UPDATE decision SET closed_as = 'withdrawn', closed_at = ${nowMillis}
            WHERE agent_id = ${agent_id} AND room_id = ${room_id} AND sender = ${sender} AND ${open}`
        }), { discard: true })
      return wakes.map((wake) => wake.agent_id)
    })

  /** Agents that this person owns or that select them: what they take from whom is another matter now. */
  const concerned = (userId: UserId) =>
    Effect.flatMap(
      sql`SELECT agent_id FROM agent WHERE owner = ${userId}
        UNION SELECT agent_id FROM wake_selection
          WHERE kind IN ('person', 'person-and-agents') AND subject = ${userId}`,
      decodeAgents
    ).pipe(Effect.map((rows) => rows.map((row) => row.agent_id)))

  const changed = (agents: ReadonlyArray<AgentId>) =>
    Effect.gen(function*() {
      const each = [...new Set(agents)]
      yield* Effect.forEach(
        each,
        (agentId) => sql`UPDATE agent SET authority_revision = authority_revision + 1 WHERE agent_id = ${agentId}`,
        { discard: true }
      )
      yield* changes.raise(each)
    })

  return {
    ended: (userId: UserId) =>
      Effect.gen(function*() {
        const woken = yield* withdraw(userId)
        yield* changed([...woken, ...(yield* concerned(userId))])
      }),
    begun: (userId: UserId) => Effect.flatMap(concerned(userId), changed)
  }
})
