// Pushes that are lost for good, on real parts: crossfire hangs while people write, and the homeserver dies with what it had
// not handed over. The room's timeline has it all.
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { expect, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { join } from "node:path"
import { deliveries, follow } from "../../src/programs/demo/Journey.ts"
import { repliesTo } from "../../src/programs/demo/Person.ts"
import * as Stage from "../../src/programs/demo/Stage.ts"
import { messagesIn } from "./HistoryReader.ts"
import { processesOf } from "./MarkedProcesses.ts"
import { stageFolder } from "./SharedStage.ts"

const messages = 20
const settleWithin = "120 seconds"
/** Far below the sweep's period of 60 s: only a push, or a look right after the restart, is so fast. */
const fastMillis = 10_000

it.scopedLive(
  "[D-01] [M-01] 20 messages whose pushes hang in a stopped crossfire and die with the homeserver: each once and in order " +
    "in each native history, and the next one comes fast",
  () =>
    Effect.gen(function*() {
      const folder = yield* stageFolder
      const stage = yield* Stage.make({
        folder,
        models: null,
        thinkMillis: 20,
        unlimited: true,
        say: () => Effect.void
      })
      const { agents, alice, crossfire, roomId } = stage
      const settings = join(stage.dataFolder, "homeserver/homeserver.yaml")
      const homeserverPids = () =>
        processesOf(folder).flatMap(({ command, processId }) => command.includes(settings) ? [processId] : [])
      yield* follow(stage, "first", () => Effect.void)
      const [before] = homeserverPids()
      if (before === undefined) throw new Error("no homeserver runs")

      const sent: Array<string> = []
      yield* Effect.acquireUseRelease(
        Effect.sync(() => process.kill(crossfire.processId, "SIGSTOP")),
        () =>
          Effect.gen(function*() {
            for (let count = 1; count <= messages; count++) sent.push(yield* alice.send(roomId, `number ${count}`))
            // Each was answered by the homeserver: it is stored there. What was to be pushed of it ends here.
            process.kill(before, "SIGKILL")
          }),
        () => Effect.sync(() => process.kill(crossfire.processId, "SIGCONT"))
      )
      yield* Effect.sync(homeserverPids).pipe(
        Effect.repeat({
          until: (found) => found.some((processId) => processId !== before),
          schedule: Schedule.spaced("200 millis")
        }),
        Effect.timeout("30 seconds")
      )
      expect(crossfire.running()).toBe(true)

      const unanswered = Effect.gen(function*() {
        const seen = yield* alice.events
        return agents.flatMap((agent) =>
          sent.filter((eventId) => !seen.some((one) => one.event.sender === agent.userId && repliesTo(one) === eventId))
            .map((eventId) => `${agent.name}: number ${sent.indexOf(eventId) + 1}`)
        )
      })
      yield* unanswered.pipe(
        Effect.repeat({ until: (open) => open.length === 0, schedule: Schedule.spaced("500 millis") }),
        Effect.timeoutOption(settleWithin)
      )
      expect(yield* unanswered).toStrictEqual([])

      const { eventId, steps } = yield* follow(stage, "afterwards", () => Effect.void)
      const delivered = steps.filter(({ name }) => name === "delivered")
      expect(delivered.length).toBe(agents.length)
      for (const { afterMillis } of delivered) expect(afterMillis).toBeLessThan(fastMillis)

      const entries = yield* deliveries(stage.root)
      for (const { name } of agents) {
        const history = entries.find((entry) => entry.agent === name)?.history ?? ""
        const ours = messagesIn(history).filter((message) =>
          message.eventId === eventId || sent.includes(message.eventId)
        )
        expect(ours.map((message) => message.eventId)).toStrictEqual([...sent, eventId])
        expect(ours.map(({ text }) => text)).toStrictEqual([...sent.map((_, at) => `number ${at + 1}`), "afterwards"])
      }
    }).pipe(Effect.provide(NodeHttpClient.layerUndici)),
  420_000
)
