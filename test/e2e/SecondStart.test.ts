// A clean end and a second start in the same folder: nothing of the first run is left, and the second goes on with the same
// histories and the same wishes of the owner.
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { expect, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { sharedContext } from "../../src/domain/Ids.ts"
import { deliveries, follow } from "../../src/programs/demo/Journey.ts"
import { repliesTo } from "../../src/programs/demo/Person.ts"
import * as Stage from "../../src/programs/demo/Stage.ts"
import { messagesIn, nativeIdOf } from "./HistoryReader.ts"
import { processesOf } from "./MarkedProcesses.ts"
import { fleet, stageFolder, statusOf } from "./SharedStage.ts"

const quiet = () => Effect.void

/** Where each agent's conversation is, and which one it is to its engine. */
const histories = (root: string) =>
  Effect.map(statusOf(root), ({ agents }) =>
    agents.map(({ contexts, name }) => {
      const path = contexts.find(({ context }) => context === sharedContext)?.history ?? ""
      return { name, path, nativeId: nativeIdOf(path) }
    }))

it.scopedLive(
  "[C-05] [C-09] [C-11] ended and started again in the same folder: the same histories go on, a stopped agent stays " +
    "stopped and gets what waited when it is started",
  () =>
    Effect.gen(function*() {
      const folder = yield* stageFolder
      const config = { folder, models: null, thinkMillis: 20, say: quiet }

      const first = yield* Effect.scoped(Effect.gen(function*() {
        const stage = yield* Stage.make(config)
        const { eventId } = yield* follow(stage, "in the first run", quiet)
        const stopped = yield* fleet("stop", "scribe", "--root", stage.root)
        expect([stopped.code, stopped.stdout]).toStrictEqual([0, "scribe is stopped\n"])
        return { eventId, roomId: stage.roomId, histories: yield* histories(stage.root) }
      }))
      expect(processesOf(folder)).toStrictEqual([])
      expect(first.histories.map(({ name }) => name).toSorted()).toStrictEqual(["scout", "scribe"])
      for (const { nativeId, path } of first.histories) {
        expect(nativeId).toMatch(/^[0-9a-f-]{36}$/u)
        expect(messagesIn(path).map((message) => message.eventId)).toContain(first.eventId)
      }

      yield* Effect.scoped(Effect.gen(function*() {
        const stage = yield* Stage.make(config)
        const { agents, alice, root, roomId } = stage
        expect(roomId).toBe(first.roomId)
        const scribe = agents.filter(({ name }) => name === "scribe")
        const scout = agents.filter(({ name }) => name === "scout")
        const { eventId, steps } = yield* follow({ ...stage, agents: scout }, "in the second run", quiet)
        expect(steps.map(({ agent, name }) => `${name} ${agent}`)).toContain("answered scout")
        expect(yield* histories(root)).toStrictEqual(first.histories)
        /** Of what alice wrote; the agents' own answers stand there too. */
        const inHistory = (agent: string) =>
          messagesIn(first.histories.find(({ name }) => name === agent)?.path ?? "")
            .map((message) => message.eventId).filter((id) => id === first.eventId || id === eventId)
        expect(inHistory("scout")).toStrictEqual([first.eventId, eventId])

        // The wake waits; no message starts the agent that its owner stopped.
        const ofScribe = Effect.map(statusOf(root), ({ agents }) => agents.find(({ name }) => name === "scribe"))
        yield* ofScribe.pipe(
          Effect.repeat({ until: (status) => (status?.openWakes ?? 0) > 0, schedule: Schedule.spaced("200 millis") }),
          Effect.timeout("20 seconds")
        )
        expect(yield* ofScribe).toMatchObject({ desired: "stopped", session: { state: "stopped" } })
        expect(inHistory("scribe")).toStrictEqual([first.eventId])
        expect(processesOf(folder).filter(({ command }) => command.includes("--mode rpc"))).toStrictEqual([])

        const started = yield* fleet("start", "scribe", "--root", root)
        expect([started.code, started.stdout]).toStrictEqual([0, "scribe is started\n"])
        yield* alice.waitFor(
          "the answer of scribe",
          (seen) => scribe.some(({ userId }) => userId === seen.event.sender) && repliesTo(seen) === eventId,
          "60 seconds"
        )
        expect(inHistory("scribe")).toStrictEqual([first.eventId, eventId])
        expect(yield* histories(root)).toStrictEqual(first.histories)
        const proven = (yield* deliveries(root)).filter(({ events }) => events.includes(eventId))
        expect(proven.map(({ agent }) => agent).toSorted()).toStrictEqual(["scout", "scribe"])
      }))
      expect(processesOf(folder)).toStrictEqual([])
    }).pipe(Effect.provide(NodeHttpClient.layerUndici)),
  420_000
)
