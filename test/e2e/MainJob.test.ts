// The main job on real parts: Synapse, Codex, Pi, crossfire and fleetd as processes of their own; only the model is scripted.
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { expect, it } from "@effect/vitest"
import { Effect, Fiber, Schedule } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { runMarkerName } from "../../src/layers/process/RunMarker.ts"
import { deliveries } from "../../src/programs/demo/Journey.ts"
import { repliesTo } from "../../src/programs/demo/Person.ts"
import * as Stage from "../../src/programs/demo/Stage.ts"
import { messagesIn } from "./HistoryReader.ts"
import { markedProcesses } from "./MarkedProcesses.ts"

const messages = 50
const settleWithin = "240 seconds"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "crossfire-e2e-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** `kill -9` of one running engine, whichever it is; answers whether there was one. */
const killEngine = (folder_: string) =>
  Effect.sync(() => {
    const [pid] = markedProcesses(runMarkerName, folder_)
    if (pid === undefined) return false
    process.kill(pid, "SIGKILL")
    return true
  })

it.scopedLive(
  "[D-01] [D-02] [D-03] [D-05] [M-01] [M-08] 50 messages, 10 of them while the agents are busy, through a kill -9 of " +
    "crossfire, of fleetd and of the engines: each once and in order in each native history, each answered",
  () =>
    Effect.gen(function*() {
      const path = yield* folder
      const stage = yield* Stage.make({
        folder: path,
        models: null,
        thinkMillis: 20,
        unlimited: true,
        say: () => Effect.void
      })
      const { agents, alice, roomId } = stage
      const sent: Array<string> = []
      const say = (extra = "") =>
        Effect.gen(function*() {
          const eventId = yield* alice.send(roomId, `number ${sent.length + 1}${extra}`)
          sent.push(eventId)
        })
      const someAnswered = (eventId: string) =>
        alice.waitFor("an answer", (seen) => repliesTo(seen) === eventId, "120 seconds")

      for (let count = 0; count < 8; count++) yield* say()
      yield* someAnswered(sent[7] ?? "")
      // Ten while both agents are in a long turn.
      yield* say(" <<busy 4000>>")
      yield* Effect.sleep("1500 millis")
      for (let count = 0; count < 10; count++) yield* say()
      yield* someAnswered(sent[18] ?? "")

      yield* say(" <<busy 1500>>")
      yield* stage.crossfire.kill
      // Written while the homeserver is down with its crossfire: the client tries until it is taken, one after the other.
      const written = yield* Effect.fork(Effect.repeatN(say(), 4))
      const crossfire = yield* stage.startCrossfire
      yield* Fiber.join(written)
      yield* someAnswered(sent[19] ?? "")
      expect(crossfire.running()).toBe(true)

      yield* say(" <<busy 1500>>")
      yield* Effect.sleep("700 millis")
      yield* stage.fleetd.kill
      for (let count = 0; count < 5; count++) yield* say()
      const fleetd = yield* stage.startFleetd
      yield* Effect.sleep("1 seconds")

      for (let killed = 0; killed < 2;) {
        yield* say(" <<busy 800>>")
        yield* Effect.sleep("500 millis")
        if (yield* killEngine(path)) killed++
      }
      yield* fleetd.kill
      yield* say()
      yield* stage.startFleetd
      while (sent.length < messages) yield* say()

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

      const entries = yield* deliveries(stage.root)
      for (const agent of agents) {
        const history = entries.find((entry) => entry.agent === agent.name)?.history
        if (history === null || history === undefined) throw new Error(`no history of ${agent.name}`)
        const ours = messagesIn(history).filter((message) => sent.includes(message.eventId))
        expect(ours.map((message) => message.eventId)).toStrictEqual(sent)
      }
    }).pipe(Effect.provide(NodeHttpClient.layerUndici)),
  420_000
)
