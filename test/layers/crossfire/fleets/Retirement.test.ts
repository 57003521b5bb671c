import { expect, it } from "@effect/vitest"
import { Effect, Layer, TestClock } from "effect"
import { Actor } from "../../../../src/domain/Actor.ts"
import { features } from "../../../../src/layers/crossfire/CoreLayer.ts"
import * as AgentAccounts from "../../../../src/layers/crossfire/enrollment/AgentAccounts.ts"
import * as SqliteFleetDirectory from "../../../../src/layers/crossfire/fleets/SqliteFleetDirectory.ts"
import * as MemoryChanges from "../../../../src/layers/crossfire/people/MemoryChanges.ts"
import * as MemoryRevocations from "../../../../src/layers/crossfire/people/MemoryRevocations.ts"
import { FleetDirectory } from "../../../../src/services/FleetDirectory.ts"
import { Levels } from "../../../../src/services/Levels.ts"
import { HomeserverUnavailable } from "../../../../src/services/Matrix.ts"
import { Participation } from "../../../../src/services/Participation.ts"
import { RoomSweep } from "../../../../src/services/RoomSweep.ts"
import { Agents } from "../../../../src/services/store/Agents.ts"
import { alice, bob, decisionsIn, make, message, policy, still, type TestAgent, until, type World } from "../World.ts"

const owner = Actor.Person({ userId: alice, role: "member" })

const directory = SqliteFleetDirectory.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(AgentAccounts.layer, MemoryChanges.layer, MemoryRevocations.layer))
)
const core = (world: World) => directory.pipe(Layer.provideMerge(still(world)))
/** What runs by itself runs, too. */
const whole = (world: World) => features.pipe(Layer.provideMerge(core(world)))

const look = (agent: TestAgent) => Effect.flatMap(Participation, (participation) => participation.look(agent.userId))
const retire = (agent: TestAgent) => Effect.flatMap(FleetDirectory, (fleets) => fleets.retire(owner, agent.agentId))
const levelOf = (agent: TestAgent) => Effect.flatMap(Levels, (levels) => levels.of(agent.agentId))

const memberships = (world: World, agent: TestAgent) =>
  world.db.read(
    world.sql<{ readonly membership: string; readonly permitted_by: string | null }>`
      SELECT membership, permitted_by FROM participation WHERE agent_id = ${agent.agentId} ORDER BY updated_at, room_id`
  )

/** An agent in one room with an open wake, and invited to another by somebody who may not. */
const busyWith = (config: Parameters<typeof make>[0]) =>
  Effect.gen(function*() {
    const world = yield* make(config)
    const writer = yield* world.agent("writer", alice)
    const desk = yield* world.human.createRoom(alice)
    yield* world.human.invite(alice, desk, writer.userId)
    const strangers = yield* world.human.createRoom(bob)
    yield* world.human.invite(bob, strangers, writer.userId)
    const event = yield* Effect.gen(function*() {
      yield* look(writer)
      const sent = yield* world.human.send(alice, desk, message("write"))
      yield* Effect.flatMap(RoomSweep, (sweep) => sweep.room(desk))
      expect((yield* levelOf(writer)).wakes).toHaveLength(1)
      return sent
    }).pipe(Effect.provide(core(world)))
    return { world, writer, desk, strangers, event }
  })
const busy = busyWith({})

const isGone = (world: World, agent: TestAgent) =>
  Effect.zipWith(
    world.memory.matrix.joinedRooms(agent.userId),
    world.memory.matrix.invitations(agent.userId),
    (joined, invitations) => joined.length === 0 && invitations.length === 0
  ).pipe(Effect.orDie)

it.scoped("a retired agent's wakes are withdrawn at once; its rooms are left and its invitations declined at the next look", () =>
  Effect.gen(function*() {
    const { desk, event, world, writer } = yield* busy
    yield* Effect.gen(function*() {
      const before = yield* levelOf(writer)
      yield* retire(writer)
      const level = yield* levelOf(writer)
      expect(level).toMatchObject({ standing: "retired", wakes: [], rooms: [] })
      expect(level.number).toBeGreaterThan(before.number)
      expect(level.authorityRevision).toBeGreaterThan(before.authorityRevision)
      expect((yield* decisionsIn(world, desk)).get(event)).toStrictEqual(["writer wake withdrawn"])
      // The homeserver was not asked yet: what it says is not guessed.
      expect((yield* memberships(world, writer)).map(({ permitted_by }) => permitted_by)).toStrictEqual([null, null])
      expect(yield* isGone(world, writer)).toBe(false)
      yield* look(writer)
      expect(yield* isGone(world, writer)).toBe(true)
      expect((yield* memberships(world, writer)).map(({ membership }) => membership).toSorted()).toStrictEqual([
        "left",
        "none"
      ])
      // A later invitation, by its owner even, is declined in the same way and told to nobody.
      yield* world.human.invite(alice, desk, writer.userId)
      yield* look(writer)
      expect(yield* isGone(world, writer)).toBe(true)
      expect(
        yield* world.db.read(world.sql`SELECT operation_id FROM outbound WHERE operation_id LIKE ${"held:%" + desk}`)
      )
        .toStrictEqual([])
      // What is said in the room wakes it no more.
      const later = yield* world.human.send(alice, desk, message("still there?"))
      yield* Effect.flatMap(RoomSweep, (sweep) => sweep.room(desk))
      expect((yield* decisionsIn(world, desk)).get(later)).toBeUndefined()
    }).pipe(Effect.provide(core(world)))
  }))

it.scoped("the rooms are left without anybody asking, and one that the homeserver keeps it in holds up no other", () =>
  Effect.gen(function*() {
    let refusals = 1
    const { strangers, world, writer } = yield* busyWith({
      before: (operation) =>
        operation === "leave" && refusals-- > 0
          ? Effect.fail(new HomeserverUnavailable({ operation, status: 500 }))
          : Effect.void
    })
    yield* Effect.gen(function*() {
      yield* retire(writer)
      const { invitations, joinedRooms } = world.memory.matrix
      yield* until("left", Effect.map(Effect.orDie(joinedRooms(writer.userId)), ({ length }) => length === 0))
      expect((yield* invitations(writer.userId)).map(({ roomId }) => roomId)).toStrictEqual([strangers])
      yield* TestClock.adjust("1 minutes")
      yield* until("declined", isGone(world, writer))
    }).pipe(Effect.provide(whole(world)))
  }))

it.scoped("crossfire killed between the retirement and the leaving: the next start leaves the rooms", () =>
  Effect.gen(function*() {
    const { world, writer } = yield* busy
    yield* Effect.provide(retire(writer), core(world))
    expect(yield* isGone(world, writer)).toBe(false)
    yield* Effect.provide(until("left", isGone(world, writer)), whole(world))
    yield* until(
      "noted",
      Effect.map(
        memberships(world, writer),
        (rows) => rows.every(({ membership }) => membership === "left" || membership === "none")
      )
    )
  }))

it.scoped("with the homeserver down the retirement holds, and the leaving is made up for", () =>
  Effect.gen(function*() {
    let down = false
    const { world, writer } = yield* busyWith({
      before: () => down ? Effect.fail(new HomeserverUnavailable({ operation: "any", status: null })) : Effect.void
    })
    yield* Effect.gen(function*() {
      down = true
      yield* retire(writer)
      expect(yield* Effect.flip(look(writer))).toBeInstanceOf(HomeserverUnavailable)
      expect((yield* levelOf(writer)).standing).toBe("retired")
      down = false
      yield* look(writer)
      expect(yield* isGone(world, writer)).toBe(true)
    }).pipe(Effect.provide(core(world)))
  }))

it.scoped("[R-06] a wake selection that names a retired agent stays and wakes nobody", () =>
  Effect.gen(function*() {
    const world = yield* make()
    const writer = yield* world.agent("writer", alice)
    const critic = yield* world.agent("critic", alice, writer.fleetId)
    const desk = yield* world.human.createRoom(alice)
    yield* world.human.invite(alice, desk, writer.userId)
    yield* world.human.invite(alice, desk, critic.userId)
    yield* Effect.gen(function*() {
      yield* look(writer)
      yield* look(critic)
      yield* policy(critic, [{ kind: "agent", agentId: writer.agentId }])
      const before = yield* world.human.send(writer.userId, desk, message("look at this"))
      yield* Effect.flatMap(RoomSweep, (sweep) => sweep.room(desk))
      expect((yield* decisionsIn(world, desk)).get(before)).toContain("critic wake")
      // Sent just before it was retired, and read after.
      const last = yield* world.human.send(writer.userId, desk, message("and this"))
      yield* retire(writer)
      yield* Effect.flatMap(RoomSweep, (sweep) => sweep.room(desk))
      expect((yield* decisionsIn(world, desk)).get(last)).toContain("critic context")
      expect((yield* levelOf(critic)).wakes).toStrictEqual([])
      yield* look(writer)
      expect((yield* Effect.flatMap(Agents, (agents) => agents.byId(writer.agentId))).pipe(
        (found) => found._tag === "Some" ? [found.value.retired, found.value.active, found.value.mayInviteAgents] : null
      )).toStrictEqual([true, false, false])
    }).pipe(Effect.provide(core(world)))
  }))

it.scoped("retired while an invitation is being answered: no permission is given, and what is said there wakes nobody", () =>
  Effect.gen(function*() {
    let answering = Effect.void
    const world = yield* make({
      before: (operation) => operation === "boundary" ? Effect.suspend(() => answering) : Effect.void
    })
    const writer = yield* world.agent("writer", alice)
    const desk = yield* world.human.createRoom(alice)
    yield* world.human.invite(alice, desk, writer.userId)
    yield* Effect.gen(function*() {
      const fleets = yield* FleetDirectory
      answering = Effect.suspend(() => {
        answering = Effect.void
        return Effect.asVoid(Effect.orDie(fleets.retire(owner, writer.agentId)))
      })
      yield* look(writer)
      yield* world.human.send(alice, desk, message("write"))
      yield* Effect.flatMap(RoomSweep, (sweep) => sweep.room(desk))
      yield* look(writer)
      expect(yield* isGone(world, writer)).toBe(true)
      expect(yield* memberships(world, writer)).toStrictEqual([])
      expect(yield* world.db.read(world.sql`SELECT kind FROM decision WHERE closed_as IS NULL AND kind = 'wake'`))
        .toStrictEqual([])
    }).pipe(Effect.provide(core(world)))
  }))

it.scoped("[F50] deactivated while an invitation of theirs is being answered: it is held like a stranger's", () =>
  Effect.gen(function*() {
    let answering = Effect.void
    const world = yield* make({
      before: (operation) => operation === "boundary" ? Effect.suspend(() => answering) : Effect.void
    })
    yield* world.person(alice, "member")
    const writer = yield* world.agent("writer", alice)
    const desk = yield* world.human.createRoom(alice)
    yield* world.human.invite(alice, desk, writer.userId)
    answering = Effect.orDie(
      Effect.asVoid(world.db.transaction(world.sql`UPDATE person SET deactivated_at = 1 WHERE user_id = ${alice}`))
    )
    yield* Effect.gen(function*() {
      yield* look(writer)
      expect(yield* memberships(world, writer)).toStrictEqual([{ membership: "invited", permitted_by: null }])
      expect(yield* world.memory.matrix.joinedRooms(writer.userId)).toStrictEqual([])
    }).pipe(Effect.provide(core(world)))
  }))
