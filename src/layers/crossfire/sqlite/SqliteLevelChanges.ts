// `LevelChanges`: numbers in crossfire's database, followers in memory. A follower holds each changed agent once, so what
// it holds is bounded by the number of agents.
import { Effect, Layer, Schema } from "effect"
import type { AgentId } from "../../../domain/Ids.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import { LevelChanges } from "../../../services/LevelChanges.ts"

const decodeNumbers = Schema.decodeUnknown(Schema.Array(Schema.Struct({ number: Schema.Int })))

interface Follower {
  changed: Set<AgentId>
  readonly signal: Effect.Latch
}

export const make = Effect.gen(function*() {
  const { read, sql, transaction } = yield* CrossfireDb
  const followers = new Set<Follower>()

  const tell = (agents: ReadonlyArray<AgentId>) =>
    Effect.sync(() => {
      for (const follower of followers) {
        for (const agentId of agents) follower.changed.add(agentId)
        follower.signal.unsafeOpen()
      }
    })

  const take = (follower: Follower) =>
    Effect.zipRight(
      follower.signal.await,
      Effect.sync((): ReadonlySet<AgentId> => {
        const taken = follower.changed
        follower.changed = new Set()
        follower.signal.unsafeClose()
        return taken
      })
    )

  return LevelChanges.of({
    raise: (agents) =>
      agents.length === 0 ? Effect.void : transaction(
        Effect.forEach(agents, (agentId) =>
          sql`INSERT INTO level (agent_id, number) VALUES (${agentId}, 1)
            ON CONFLICT (agent_id) DO UPDATE SET number = number + 1`, { discard: true })
      ).pipe(Effect.zipRight(tell(agents))),
    numberOf: (agentId) =>
      read(
        Effect.flatMap(sql`SELECT number FROM level WHERE agent_id = ${agentId}`, decodeNumbers).pipe(
          Effect.map((rows) => rows[0]?.number ?? 0)
        )
      ),
    follow: Effect.acquireRelease(
      Effect.sync(() => {
        const follower: Follower = { changed: new Set(), signal: Effect.unsafeMakeLatch(false) }
        followers.add(follower)
        return follower
      }),
      (follower) => Effect.sync(() => followers.delete(follower))
    ).pipe(Effect.map(take))
  })
})

export const layer = Layer.effect(LevelChanges, make)
