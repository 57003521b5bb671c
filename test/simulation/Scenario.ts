// One seeded run: people write, everything fails, everything is healed, and then the invariants are asked.
import { Effect, Fiber, Ref } from "effect"
import { EventId, OperationId, RoomId, UserId } from "../../src/domain/Ids.ts"
import { nextUuid, seeded, Uuids } from "../../src/layers/fleetd/Uuids.ts"
import type { PushedEvent } from "../../src/layers/matrix/ApplicationServicePush.ts"
import * as MemoryMatrix from "../../src/layers/matrix/MemoryMatrix.ts"
import * as MemoryEngine from "../../src/layers/memory/MemoryEngine.ts"
import type { Database } from "../../src/services/Database.ts"
import { HomeserverUnavailable } from "../../src/services/Matrix.ts"
import { makeHost } from "../support/MemoryHost.ts"
import * as Invariants from "./Invariants.ts"
import * as SimulatedFleet from "./SimulatedFleet.ts"
import type { SeededRandom } from "./VirtualTime.ts"

export interface Outcome {
  readonly problems: ReadonlyArray<string>
  readonly messages: number
  readonly deliveries: number
  readonly answers: number
  /** Messages that an agent was told of as unknown, after the machine went down. */
  readonly told: number
  readonly kills: Record<string, number>
  readonly virtualSeconds: number
}

/** How long the healed system may take until nothing is under way, in virtual time. */
const quiescentWithinMillis = 30 * 60_000

const mallory = UserId.make(`@mallory:${SimulatedFleet.serverName}`)

const answerable = /^── message (\$\S+) in (!\S+) from (@cf-)?\S+ at \S+ \[(wake|mention)\]/gmu

export const run = (
  random: SeededRandom,
  databases: { readonly crossfire: Database; readonly fleet: Database },
  now: () => number
) =>
  Effect.gen(function*() {
    const startedAt = now()
    let faulty = true
    const kills: Record<string, number> = {}
    const count = (what: string) =>
      Effect.sync(() => {
        kills[what] = (kills[what] ?? 0) + 1
      })
    const chance = (probability: number) => faulty && random.chance(probability)
    const pause = (from: number, to: number) => Effect.suspend(() => Effect.sleep(random.between(from, to)))
    // Every run has its own mixture: some have none of a kind of fault.
    const rate = (highest: number) => random.chance(0.3) ? 0 : random.next() * highest
    const rates = {
      network: rate(0.15),
      homeserver: rate(0.1),
      push: rate(0.5),
      engine: rate(0.3),
      nemesis: random.between(2_000, 20_000)
    }

    const memory = yield* MemoryMatrix.make({
      serverName: SimulatedFleet.serverName,
      before: (operation) =>
        Effect.suspend(() =>
          chance(rates.homeserver) ? Effect.fail(new HomeserverUnavailable({ operation, status: 502 })) : pause(0, 20)
        ),
      after: (operation) =>
        Effect.suspend(() =>
          chance(rates.homeserver / 2)
            ? Effect.fail(new HomeserverUnavailable({ operation, status: null }))
            : Effect.void
        )
    })

    const machine = makeHost()
    const sendTool = yield* Ref.make<SimulatedFleet.SimulatedFleet["send"]>(() => Effect.succeed(false))

    /** Plays an agent: answers every waking message of its conversation that has no answer in it yet. */
    const onTurn: MemoryEngine.EngineBehaviour["onTurn"] = ({ agentId, file, note }) =>
      Effect.gen(function*() {
        const answered = new Set(file.lines.flatMap((line) => line.kind === "answer" ? [line.eventId] : []))
        const texts = file.lines.flatMap((line) => line.kind === "user" ? [line.text] : [])
        const told = [...machine.files.entries()].filter(([path]) => texts.some((text) => text.includes(path)))
        for (const text of [...texts, ...told.map(([, content]) => content)]) {
          for (const [, eventId = "", roomId = ""] of text.matchAll(answerable)) {
            if (answered.has(eventId)) continue
            answered.add(eventId)
            yield* pause(5, 800)
            const operationId = OperationId.make(yield* nextUuid)
            // A tool that does not answer is tried again, as an agent would; the process may die meanwhile.
            const send = Effect.flatMap(Ref.get(sendTool), (tool) =>
              tool(agentId, {
                operationId,
                roomId: RoomId.make(roomId),
                text: `answer ${operationId}`,
                replyTo: EventId.make(eventId),
                mentions: []
              }))
            yield* Effect.repeat(Effect.zipLeft(send, Effect.sleep("100 millis")), { until: (stored) => stored })
            yield* note(eventId)
          }
        }
      })

    const engines = MemoryEngine.make({
      onSubmit: () =>
        Effect.sync(() => ({
          delayMillis: random.between(1, 60),
          turn: chance(rates.engine / 4) ? "failed" as const : "completed" as const,
          dieBefore: chance(rates.engine / 3),
          dieAfter: chance(rates.engine / 3),
          loseAnswer: chance(rates.engine / 3)
        })),
      onTurn,
      onActivate: () => Effect.as(pause(50, 500), !chance(rates.engine / 3))
    })

    const fleet = yield* SimulatedFleet.make({
      memory,
      crossfireDb: databases.crossfire,
      fleetDb: databases.fleet,
      engines,
      machine,
      faults: {
        plan: Effect.sync(() => chance(rates.network) ? random.chance(0.5) ? "lost-request" : "lost-answer" : "ok"),
        latency: pause(0, 30)
      }
    })
    yield* Ref.set(sendTool, fleet.send)

    // Pushes: one at a time and in order while all is well; lost, doubled, late and out of order while it is not.
    const pushed: Array<PushedEvent> = []
    yield* memory.onPush((event) => Effect.sync(() => void pushed.push(event)))
    const pusher = Effect.gen(function*() {
      yield* pause(5, 50)
      const place = chance(rates.push) ? random.between(0, pushed.length + 1) : 0
      const event = pushed[place]
      if (event === undefined) return
      if (!chance(rates.push)) yield* fleet.push([event])
      if (!chance(rates.push / 2)) pushed.splice(place, 1)
    })

    faulty = false
    yield* SimulatedFleet.enroll(databases.crossfire, databases.fleet, memory)
    yield* fleet.startCrossfire
    yield* fleet.startFleetd
    yield* Effect.forkScoped(Effect.forever(pusher))
    const invited = SimulatedFleet.agents.map((agent) => agent.userId)
    const rooms = yield* Effect.replicateEffect(
      memory.human.createRoom(SimulatedFleet.alice, { invite: invited, name: "theatre" }),
      random.between(1, 4)
    )
    const joined = Effect.every(rooms, (roomId) =>
      Effect.map(
        databases.crossfire.sql<{ readonly total: number }>`SELECT COUNT(*) AS total FROM participation
          WHERE room_id = ${roomId} AND membership = 'joined' AND boundary IS NOT NULL`,
        (rows) => rows[0]?.total === invited.length
      ))
    yield* Effect.repeat(Effect.delay(joined, "100 millis"), { until: (all) => all, times: 3_000 })
    faulty = true

    // Someone whom nobody's policy selects, and who takes back most of what they say: at once, or much later.
    for (const roomId of rooms) {
      yield* memory.human.invite(SimulatedFleet.alice, roomId, mallory)
      yield* memory.human.join(mallory, roomId)
    }
    const slip = (roomId: RoomId) =>
      Effect.gen(function*() {
        const eventId = yield* memory.human.send(mallory, roomId, { msgtype: "m.text", body: "a slip" })
        if (random.chance(0.2)) return
        const takeBack = Effect.orDie(memory.human.redact(mallory, roomId, eventId))
        yield* Effect.forkScoped(Effect.delay(takeBack, random.between(0, 4_000)))
      })

    const sent: Array<Invariants.SentMessage> = []
    const numbers = new Map<RoomId, number>()
    const sayIn = (roomId: RoomId, depthLag: number) =>
      Effect.gen(function*() {
        const number = (numbers.get(roomId) ?? 0) + 1
        numbers.set(roomId, number)
        const content = { msgtype: "m.text", body: `number ${number}` }
        const eventId = yield* memory.human.send(SimulatedFleet.alice, roomId, content, { depthLag })
        sent.push({ eventId, roomId, number, late: depthLag > 0 })
      })
    const say = Effect.gen(function*() {
      const roomId = rooms[random.between(0, rooms.length)]
      if (roomId === undefined) return
      yield* sayIn(roomId, 0)
      if (random.chance(0.2)) yield* slip(roomId)
    })
    const burst = random.chance(0.1)

    const nemesis = Effect.gen(function*() {
      yield* pause(rates.nemesis / 4, rates.nemesis)
      const downtime = pause(0, 8_000)
      switch (random.between(0, 5)) {
        case 0:
          return yield* Effect.all([count("crossfire"), fleet.killCrossfire, downtime, fleet.startCrossfire])
        case 1:
          return yield* Effect.all([count("fleetd"), fleet.killFleetd, downtime, fleet.startFleetd])
        case 2:
          return yield* Effect.all([count("engines"), engines.killAll])
        case 3:
          yield* Effect.all([count("power"), fleet.killFleetd])
          engines.histories.losePower()
          machine.bootId = `boot-${now()}`
          return yield* Effect.all([downtime, fleet.startFleetd])
        default:
          return yield* Effect.all([count("both"), fleet.killFleetd, fleet.killCrossfire, downtime])
            .pipe(Effect.zipRight(fleet.startCrossfire), Effect.zipRight(fleet.startFleetd))
      }
    })
    const adversary = yield* Effect.fork(Effect.repeat(nemesis, { while: () => faulty }))

    const problems = new Set<string>()
    const givenTo = (agentId: string) =>
      [...engines.histories.files.entries()].filter(([path]) => path.includes(agentId)).flatMap(([, file]) =>
        Invariants.givenIn(file, machine.files)
      )
    const inspect = Effect.gen(function*() {
      for (const agent of SimulatedFleet.agents) {
        const given = givenTo(agent.agentId)
        for (const problem of yield* Invariants.cursorProblems(databases.fleet, agent.agentId, given, sent)) {
          problems.add(`${agent.name}: ${problem}`)
        }
      }
      for (const problem of yield* Invariants.unknownProblems(databases.fleet)) problems.add(problem)
    })
    yield* Effect.forkScoped(Effect.forever(Effect.zipRight(pause(1_000, 5_000), inspect)))

    for (let left = random.between(10, 30); left > 0; left--) {
      yield* pause(0, 3_000)
      yield* say
    }
    // More than one collection takes, some of it stored behind its place in the room as concurrent writers do: windows are
    // then taken in parts, and pages bring again what was given.
    const [crowded] = rooms
    if (burst && crowded !== undefined) {
      for (let left = random.between(110, 150); left > 0; left--) {
        yield* sayIn(crowded, random.chance(0.2) ? random.between(1, 4) : 0)
      }
    }
    yield* pause(0, 10_000)

    // Healed: no new fault, everything runs; what was accepted must now come through by itself.
    faulty = false
    yield* Fiber.join(adversary)
    yield* fleet.startCrossfire
    yield* fleet.startFleetd
    const healedAt = now()
    yield* Effect.forkScoped(Effect.forever(Effect.delay(fleet.startHeld, "30 seconds")))
    const rest = Effect.gen(function*() {
      yield* Effect.sleep("1 second")
      const open = yield* Invariants.unsettled(databases.crossfire, databases.fleet)
      const missing = SimulatedFleet.agents.flatMap((agent) =>
        Invariants.deliveryProblems(givenTo(agent.agentId), sent).map((problem) => `${agent.name}: ${problem}`)
      )
      const answers = yield* answersIn(memory, rooms)
      const unanswered = SimulatedFleet.agents.flatMap((agent) =>
        sent.filter((message) => !answers.replies.has(`${agent.userId} ${message.eventId}`)).map((message) =>
          `${agent.name} did not answer message ${message.number} of ${message.roomId}`
        )
      )
      return [...open, ...missing, ...unanswered]
    })
    const left = yield* Effect.repeat(rest, {
      until: (open) => open.length === 0 || now() - healedAt > quiescentWithinMillis
    })
    for (const problem of left) problems.add(`not quiescent: ${problem}`)
    yield* inspect

    for (const file of engines.histories.files.values()) {
      for (const id of Invariants.doubledDeliveries(file)) problems.add(`delivery ${id} stands twice in its history`)
    }
    if (engines.histories.files.size !== SimulatedFleet.agents.length) {
      problems.add(`${engines.histories.files.size} histories for ${SimulatedFleet.agents.length} agents`)
    }
    const answers = yield* answersIn(memory, rooms)
    for (const text of answers.doubled) problems.add(`sent twice: ${text}`)
    const outcome: Outcome = {
      problems: [...problems],
      messages: sent.length,
      deliveries: SimulatedFleet.agents.reduce((sum, agent) => sum + givenTo(agent.agentId).length, 0),
      answers: answers.replies.size,
      told: SimulatedFleet.agents.reduce(
        (sum, agent) => sum + givenTo(agent.agentId).filter((one) => one.told).length,
        0
      ),
      kills,
      virtualSeconds: Math.round((now() - startedAt) / 1000)
    }
    return outcome
  }).pipe(
    Effect.scoped,
    Effect.provideService(Uuids, seeded)
  )

/** What agents said in the rooms: which message each answered, and what stands there twice. */
const answersIn = (memory: MemoryMatrix.MemoryMatrix, rooms: ReadonlyArray<RoomId>) =>
  Effect.gen(function*() {
    const replies = new Set<string>()
    const texts = new Set<string>()
    const doubled: Array<string> = []
    for (const roomId of rooms) {
      for (const event of yield* memory.timeline(roomId)) {
        const body = event.content["body"]
        if (!event.sender.startsWith("@cf-") || event.type !== "m.room.message" || typeof body !== "string") continue
        if (texts.has(body)) doubled.push(body)
        texts.add(body)
        const relation = event.content["m.relates_to"]
        const replied = typeof relation === "object" && relation !== null && "m.in_reply_to" in relation
          ? relation["m.in_reply_to"]
          : null
        if (typeof replied === "object" && replied !== null && "event_id" in replied) {
          replies.add(`${event.sender} ${String(replied.event_id)}`)
        }
      }
    }
    return { replies, doubled }
  })
