// The way of a message, as it can be seen from outside: arrived at the homeserver, woke the agent, proven in its native
// history, answered in the room. Times are milliseconds since the person sent it.
import { Clock, Effect, Ref, Schedule } from "effect"
import { basename } from "node:path"
import type { EventId, UserId } from "../../domain/Ids.ts"
import * as FleetSocketClient from "../../layers/fleetd/FleetSocketClient.ts"
import { type Person, repliesTo, textOf } from "./Person.ts"
import type { StageAgent } from "./Stage.ts"

export interface Step {
  readonly name: "arrived" | "woke" | "delivered" | "answered"
  readonly agent: string | null
  readonly afterMillis: number
  readonly detail: string
}

export interface Journey {
  readonly text: string
  readonly eventId: EventId
  readonly steps: ReadonlyArray<Step>
}

const look = Schedule.spaced("150 millis")
const within = "120 seconds"
const shownEntries = 500

/** What `fleet deliveries` tells; an owner sees the same. */
export const deliveries = (root: string) =>
  Effect.scoped(Effect.flatMap(FleetSocketClient.connect(root), (client) => client.deliveries(shownEntries)))

/** Sends as `alice` and follows the message until every agent has answered it, telling each step as it is seen. */
export const follow = (
  stage: {
    readonly alice: Person
    readonly agents: ReadonlyArray<StageAgent>
    readonly roomId: Parameters<Person["send"]>[0]
    readonly root: string
  },
  text: string,
  tell: (step: Step) => Effect.Effect<void>
) =>
  Effect.gen(function*() {
    const { agents, alice, roomId, root } = stage
    const steps = yield* Ref.make<ReadonlyArray<Step>>([])
    const startedAt = yield* Clock.currentTimeMillis
    const eventId = yield* alice.send(roomId, text)
    const reached = (step: Omit<Step, "afterMillis">, at: number) => {
      const whole = { ...step, afterMillis: at - startedAt }
      return Effect.zipRight(Ref.update(steps, (known) => [...known, whole]), tell(whole))
    }
    yield* reached({ name: "arrived", agent: null, detail: `event ${eventId}` }, yield* Clock.currentTimeMillis)

    const told = new Set<string>()
    const once = (key: string, step: Effect.Effect<void>) =>
      Effect.suspend(() => {
        if (told.has(key)) return Effect.void
        told.add(key)
        return step
      })
    const watchDeliveries = Effect.gen(function*() {
      const entries = yield* deliveries(root)
      for (const entry of entries.filter((one) => one.events.includes(eventId) && one.state !== "discarded")) {
        const { agent } = entry
        yield* once(
          `woke ${agent}`,
          reached({ name: "woke", agent, detail: `input ${entry.deliveryId}` }, entry.preparedAtMillis)
        )
        if (entry.confirmedAtMillis === null) continue
        const history = entry.history === null ? "" : ` in ${basename(entry.history)}`
        yield* once(
          `delivered ${agent}`,
          reached(
            { name: "delivered", agent, detail: `native entry ${entry.entry ?? ""}${history}` },
            entry.confirmedAtMillis
          )
        )
      }
      return agents.every(({ name }) => told.has(`delivered ${name}`))
    }).pipe(Effect.repeat({ until: (all) => all, schedule: look }), Effect.asVoid)

    const answered = (userId: UserId, agent: string) =>
      Effect.gen(function*() {
        const answer = yield* alice.waitFor(
          `the answer of ${agent}`,
          (seen) => seen.event.sender === userId && repliesTo(seen) === eventId,
          within
        )
        yield* reached({ name: "answered", agent, detail: textOf(answer).slice(0, 60) }, yield* Clock.currentTimeMillis)
      })

    yield* Effect.all([watchDeliveries, ...agents.map(({ name, userId }) => answered(userId, name))], {
      concurrency: "unbounded"
    }).pipe(Effect.timeout(within))
    const journey: Journey = { text, eventId, steps: yield* Ref.get(steps) }
    return journey
  })

const median = (numbers: ReadonlyArray<number>): number =>
  numbers.toSorted((one, other) => one - other)[Math.floor((numbers.length - 1) / 2)] ?? Number.NaN

/** The figures over several journeys. */
export const summary = (journeys: ReadonlyArray<Journey>): ReadonlyArray<string> => {
  const steps = journeys.flatMap((journey) => journey.steps)
  const of = (name: Step["name"]) => steps.filter((step) => step.name === name)
  const line = (name: Step["name"], what: string) => {
    const times = of(name).map((step) => step.afterMillis)
    return `  ${what.padEnd(28)} ${String(times.length).padStart(3)}   median ${median(times)} ms after sending`
  }
  return [
    line("arrived", "messages arrived"),
    line("woke", "inputs made for agents"),
    line("delivered", "proven by a native entry"),
    line("answered", "answers in the room")
  ]
}
