import { expect, it } from "@effect/vitest"
import { Effect, FastCheck, Option } from "effect"
import type { EventId } from "../../../src/domain/Ids.ts"
import { HomeserverUnavailable } from "../../../src/services/Matrix.ts"
import { Participation } from "../../../src/services/Participation.ts"
import { RoomSweep } from "../../../src/services/RoomSweep.ts"
import { Participations } from "../../../src/services/store/Participations.ts"
import { alice, decisionsIn, make, message, still } from "./World.ts"

const agentIndex = FastCheck.integer({ min: 0, max: 2 })
const step = FastCheck.oneof(
  {
    weight: 6,
    arbitrary: FastCheck.record({ do: FastCheck.constant("send" as const), lag: FastCheck.nat({ max: 3 }) })
  },
  { weight: 2, arbitrary: FastCheck.record({ do: FastCheck.constant("kick" as const), agent: agentIndex }) },
  { weight: 3, arbitrary: FastCheck.record({ do: FastCheck.constant("invite" as const), agent: agentIndex }) },
  { weight: 3, arbitrary: FastCheck.record({ do: FastCheck.constant("look" as const), agent: agentIndex }) },
  { weight: 3, arbitrary: FastCheck.record({ do: FastCheck.constant("sweep" as const) }) },
  {
    weight: 1,
    arbitrary: FastCheck.record({
      do: FastCheck.constant("visibility" as const),
      value: FastCheck.constantFrom("shared", "joined", "invited")
    })
  },
  { weight: 1, arbitrary: FastCheck.record({ do: FastCheck.constant("restart" as const) }) },
  {
    weight: 2,
    arbitrary: FastCheck.record({ do: FastCheck.constant("break" as const), after: FastCheck.nat({ max: 6 }) })
  }
)

it.scoped.prop(
  "whoever comes and goes, what was said while an agent was in the room wakes it once, and nothing from before its first boundary does",
  [FastCheck.array(step, { minLength: 5, maxLength: 60 })],
  ([given]) =>
    Effect.gen(function*() {
      const steps = [...given]
      // The homeserver fails once, at the n-th call from now.
      let failsAt = -1
      const world = yield* make({
        before: (operation) =>
          Effect.suspend(() => {
            failsAt -= 1
            return failsAt === 0
              ? Effect.fail(new HomeserverUnavailable({ operation, status: null }))
              : Effect.void
          })
      })
      const agents = yield* Effect.forEach(["a", "b", "c"], (name) => world.agent(name, alice))
      const room = yield* world.human.createRoom(alice)
      const inside = new Map<EventId, ReadonlySet<string>>()
      const early = new Map<EventId, ReadonlySet<string>>()

      const joined = (agent: (typeof agents)[number]) =>
        Effect.sync(() => failsAt).pipe(
          Effect.flatMap((kept) =>
            Effect.sync(() => void (failsAt = -1)).pipe(
              Effect.zipRight(Effect.orDie(world.memory.matrix.joinedRooms(agent.userId))),
              Effect.tap(() => Effect.sync(() => void (failsAt = kept)))
            )
          ),
          Effect.map((rooms) => rooms.includes(room))
        )
      const bounded = Effect.map(
        world.db.read(world.sql<{ readonly agent_id: string }>`SELECT agent_id FROM participation
          WHERE wanted_boundary IS NOT NULL OR boundary IS NOT NULL`),
        (rows) => new Set(rows.map((row) => row.agent_id))
      )

      const run = Effect.gen(function*() {
        const participation = yield* Participation
        const sweeps = yield* RoomSweep
        while (steps.length > 0) {
          const next = steps.shift()
          if (next === undefined || next.do === "restart") return
          switch (next.do) {
            case "send": {
              const known = yield* bounded
              const members = yield* Effect.filter(agents, joined)
              const event = yield* world.human.send(alice, room, message("x"), { depthLag: next.lag })
              inside.set(event, new Set(members.map((agent) => agent.name)))
              early.set(event, new Set(agents.filter((agent) => !known.has(agent.agentId)).map((agent) => agent.name)))
              break
            }
            case "kick":
              yield* Effect.ignore(world.human.kick(alice, room, agents[next.agent]?.userId ?? alice))
              break
            case "invite":
              yield* Effect.ignore(world.human.invite(alice, room, agents[next.agent]?.userId ?? alice))
              break
            case "look":
              yield* Effect.ignore(participation.look(agents[next.agent]?.userId ?? alice))
              break
            case "sweep":
              yield* Effect.ignore(sweeps.room(room))
              break
            case "visibility":
              yield* world.human.setState(alice, room, "m.room.history_visibility", "", {
                history_visibility: next.value
              })
              break
            case "break":
              failsAt = next.after + 1
          }
        }
      })
      while (steps.length > 0) yield* run.pipe(Effect.provide(still(world)))
      failsAt = -1
      yield* Effect.gen(function*() {
        const participation = yield* Participation
        const sweeps = yield* RoomSweep
        const rows = yield* Participations
        yield* sweeps.room(room)
        for (const agent of agents) {
          const standing = Option.getOrNull(yield* rows.get(agent.agentId, room))
          // What a sweep has read tells who is in the room; who came in meanwhile is told by a look.
          if (!(yield* joined(agent))) expect(standing?.membership).not.toBe("joined")
        }
        for (const agent of agents) {
          yield* world.human.invite(alice, room, agent.userId).pipe(Effect.ignore)
          yield* participation.look(agent.userId)
        }
        yield* sweeps.room(room)
        yield* sweeps.room(room)
      }).pipe(Effect.provide(still(world)))

      const decided = yield* decisionsIn(world, room)
      for (const [event, members] of inside) {
        const kinds = decided.get(event) ?? []
        for (const name of members) {
          expect([event, kinds]).toStrictEqual([event, expect.arrayContaining([`${name} wake`])])
        }
        for (const name of early.get(event) ?? []) {
          expect(kinds).not.toContain(`${name} wake`)
        }
        expect(new Set(kinds).size).toBe(kinds.length)
      }
    }),
  { fastCheck: { numRuns: 60 } }
)
