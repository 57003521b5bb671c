// The whole server on a real homeserver: enrollment in the bot's chat, an invitation, a message, its answer, restarts.
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import { expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Queue, Redacted, Schedule, Schema, Stream } from "effect"
import { execFile } from "node:child_process"
import { randomBytes, randomUUID } from "node:crypto"
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { EnrollmentView, Introduction, LeaseGrant, PageAnswer } from "../../../src/domain/api/Crossfire.ts"
import { StreamToken, UserId } from "../../../src/domain/Ids.ts"
import type { Level } from "../../../src/domain/Level.ts"
import * as ServerSettings from "../../../src/layers/crossfire/ServerSettings.ts"
import { hashOf } from "../../../src/layers/crypto/Secret.ts"
import { levelStream } from "../../../src/layers/fleetd/LevelStream.ts"
import { prepare } from "../../../src/layers/homeserver/ManagedSynapse.ts"
import { serviceId } from "../../../src/programs/crossfire/Homeserver.ts"
import { makeFolder } from "../../../src/programs/crossfire/Init.ts"
import * as OperatorClient from "../../../src/programs/crossfire/OperatorClient.ts"
import { serve } from "../../../src/programs/crossfire/Serve.ts"
import { message } from "../../layers/crossfire/World.ts"
import { launcher, peopleOf, python, testSettings } from "../../layers/homeserver/TestSynapse.ts"
import { call, root, stampHeaders } from "./Crossfire.ts"

const serverName = "cf.test"
const alice = UserId.make(`@alice:${serverName}`)
const bot = UserId.make(`@cf-bot:${serverName}`)

const freePort = Effect.async<number>((resume) => {
  const server = createServer()
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    server.close(() => resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0)))
  })
})

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "crossfire-serve-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const patience = { schedule: Schedule.spaced("100 millis") } as const

const installation = Effect.gen(function*() {
  const data = join(yield* folder, "data")
  const httpPort = yield* freePort
  yield* makeFolder({ data, serverName, httpPort, homeserver: { mode: "managed", port: yield* freePort } })
  const settings = yield* ServerSettings.read(data)
  if (settings.homeserver.mode !== "managed") return yield* Effect.dieMessage("not managed")
  return {
    data,
    root: process.cwd(),
    settings: { ...settings, homeserver: { ...settings.homeserver, settings: testSettings } },
    url: `http://127.0.0.1:${httpPort}`
  }
})

type Installed = Effect.Effect.Success<typeof installation>

/** Runs until what it gives is run. */
const running = (installed: Installed) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkScoped(serve(installed))
    yield* call(installed.url, "/healthz", { method: "GET" }).pipe(
      Effect.sandbox,
      Effect.retry(patience),
      Effect.raceFirst(Fiber.join(fiber)),
      Effect.timeout("60 seconds")
    )
    const stop = Fiber.interrupt(fiber).pipe(
      Effect.tap((exit) => Effect.sync(() => expect(Exit.isInterrupted(exit)).toBe(true)))
    )
    return { stop }
  })

const decoded = <A, I>(schema: Schema.Schema<A, I>, answer: { readonly status: number; readonly body: unknown }) => {
  expect(answer).toMatchObject({ status: 200 })
  return Schema.decodeUnknown(schema)(answer.body)
}

/** The process that serves this folder's homeserver. */
const homeserverPid = (installed: Installed) =>
  Effect.async<string>((resume) => {
    const settings = join(installed.data, "homeserver", "homeserver.yaml")
    execFile("pgrep", ["-f", settings], (_, out) => resume(Effect.succeed(out.trim().split("\n")[0] ?? "")))
  })

const homeserverOf = (installed: Installed) => {
  const { homeserver } = installed.settings
  return prepare({
    folder: join(installed.data, "homeserver"),
    serverName,
    port: homeserver.mode === "managed" ? homeserver.port ?? null : null,
    publicBaseUrl: null,
    registration: "token",
    serviceId,
    pushUrl: installed.url,
    settings: testSettings,
    python,
    launcher
  })
}

it.scopedLive(
  "[D-02] [I-05] a fleet is enrolled in the bot's chat, its agent is woken, read, acknowledged, heard, and found again after kills",
  () =>
    Effect.gen(function*() {
      const installed = yield* installation
      const { url } = installed
      expect(statSync(installed.data).mode & 0o777).toBe(0o700)
      expect(statSync(ServerSettings.settingsPath(installed.data)).mode & 0o777).toBe(0o600)
      const first = yield* running(installed)
      const prepared = yield* homeserverOf(installed)
      const people = yield* peopleOf(prepared)

      // A person, a second instance that is refused, a chat with the bot.
      const chat = yield* people.createRoom(alice, { isDirect: true, invite: [bot] }).pipe(
        Effect.retry({ ...patience, times: 300 })
      )
      yield* OperatorClient.call(installed.data, (client) =>
        client.addPerson({ payload: { name: "alice", role: "member", password: null } }))
      const second = yield* Effect.flip(serve(installed))
      expect(second).toMatchObject({ _tag: "AlreadyRunning", holderPid: process.pid })

      const claim = randomBytes(32).toString("base64url")
      const roster = {
        fleet: "desk",
        owner: alice,
        agents: [{
          key: "writer",
          name: "writer",
          engine: "codex",
          model: "test",
          effort: null,
          work_folder: "/tmp",
          history_mode: "shared",
          instructions: null
        }]
      }
      const filed = yield* decoded(EnrollmentView, yield* call(url, "/v1/enrollments", { body: { claim, roster } }))
      yield* people.send(alice, chat, message(filed.code ?? ""))
      const state = Effect.flatMap(call(url, "/v1/enrollments/state", { body: { claim } }), (answer) =>
        decoded(EnrollmentView, answer))
      // The confirmation counts once the roster was shown.
      yield* people.send(alice, chat, message(`confirm ${filed.code}`)).pipe(
        Effect.zipRight(state),
        Effect.repeat({
          until: (view) =>
            view.state === "approved",
          schedule: Schedule.spaced("500 millis")
        }),
        Effect.timeout("30 seconds")
      )
      const fleetToken = `cff_${randomBytes(32).toString("base64url")}`
      const agentToken = `cfa_${randomBytes(32).toString("base64url")}`
      const introduced = yield* decoded(
        Introduction,
        yield* call(url, "/v1/enrollments/introduce", {
          body: {
            claim,
            fleetToken: hashOf(Redacted.make(fleetToken)),
            agentTokens: [{ key: "writer", token: hashOf(Redacted.make(agentToken)) }]
          }
        })
      )
      const writer = introduced.agents[0]?.userId ?? bot

      const lease = Effect.flatMap(
        call(url, "/v1/fleet/lease", { token: fleetToken, body: { root, holder: "test", takeOver: false } }),
        (answer) =>
          decoded(LeaseGrant, answer)
      )
      const follow = Effect.gen(function*() {
        const client = yield* HttpClient.HttpClient
        const seen = yield* Queue.unbounded<Level>()
        const stamp = yield* lease
        yield* Effect.forkScoped(
          levelStream({
            baseUrl: url,
            client: HttpClient.withScope(client),
            token: Effect.succeed(Redacted.make(fleetToken)),
            isReplaced: () =>
              Effect.succeed(false),
            stamp
          }).pipe(
            Stream.runForEach((level) => Queue.offer(seen, level)),
            Effect.ignore
          )
        )
        return { headers: stampHeaders(stamp), seen }
      }).pipe(Effect.provide(FetchHttpClient.layer))
      const levelWith = (seen: Queue.Dequeue<Level>, holds: (level: Level) => boolean) =>
        Queue.take(seen).pipe(Effect.repeat({ until: holds }), Effect.timeout("90 seconds"))
      const wakes = (level: Level) => level.wakes.map((wake) => String(wake.eventId))

      const one = yield* follow
      const room = yield* people.createRoom(alice, { name: "Plans" })
      const before = yield* people.send(alice, room, message("before"))
      yield* people.invite(alice, room, writer)
      yield* levelWith(one.seen, (level) => level.rooms.length === 1)
      const sentAt = performance.now()
      const asked = yield* people.send(alice, room, message("what now?"))
      const level = yield* levelWith(one.seen, (found) => wakes(found).includes(asked))
      const latency = performance.now() - sentAt
      expect(latency).toBeLessThan(5_000)
      expect(wakes(level)).toStrictEqual([asked])
      yield* Effect.logInfo(`from sending to the level: ${Math.round(latency)} ms`)

      const pageOf = (headers: Record<string, string>, from: string, agent = agentToken) =>
        Effect.gen(function*() {
          const boundary = yield* decoded(
            Schema.Struct({ boundary: StreamToken }),
            yield* call(url, "/v1/fleet/boundary", { token: fleetToken, headers })
          )
          return yield* decoded(
            PageAnswer,
            yield* call(url, "/v1/agent/page", {
              token: agent,
              headers,
              body: { roomId: room, from, to: boundary.boundary, direction: "forward", limit: 100 }
            })
          )
        })
      const from = level.rooms[0]?.boundary ?? ""
      const page = yield* pageOf(one.headers, from)
      expect(page.records.find((record) => record.eventId === asked)).toMatchObject({ kind: "wake", text: "what now?" })
      expect(page.records.some((record) => record.eventId === before)).toBe(false)
      yield* call(url, "/v1/agent/acknowledge", {
        token: agentToken,
        headers: one.headers,
        body: {
          deliveryId: randomUUID(),
          cursors: [],
          delivered: [{ roomId: room, eventId: asked }],
          redactionNumber: 0
        }
      })
      yield* levelWith(one.seen, (found) => found.wakes.length === 0)
      const sent = yield* call(url, "/v1/agent/send", {
        token: agentToken,
        headers: one.headers,
        body: { operationId: randomUUID(), roomId: room, text: "**this**", replyTo: asked, mentions: [alice] }
      })
      expect(sent).toMatchObject({ status: 200, body: { status: "sent" } })

      // The homeserver is killed, and comes back.
      const killed = yield* people.send(alice, room, message("before the kill"))
      yield* levelWith(one.seen, (found) => wakes(found).includes(killed))
      const pid = Number(yield* homeserverPid(installed))
      expect(pid).toBeGreaterThan(1)
      process.kill(pid, "SIGKILL")
      const afterKill = yield* people.send(alice, room, message("after the kill")).pipe(
        Effect.retry({ ...patience, times: 600 })
      )
      yield* levelWith(one.seen, (found) => wakes(found).includes(afterKill))

      // crossfire ends and comes back: what was said meanwhile is lost with the homeserver's pushes, and found.
      const stopping = performance.now()
      yield* first.stop
      expect(performance.now() - stopping).toBeLessThan(15_000)
      const again = yield* running(installed)
      const two = yield* follow.pipe(Effect.retry({ ...patience, times: 100 }))
      const later = yield* levelWith(two.seen, (found) => wakes(found).includes(afterKill))
      expect(wakes(later)).toStrictEqual([killed, afterKill])
      const last = yield* people.send(alice, room, message("last")).pipe(Effect.retry({ ...patience, times: 300 }))
      yield* levelWith(two.seen, (found) => wakes(found).includes(last))
      yield* again.stop
    }),
  240_000
)
