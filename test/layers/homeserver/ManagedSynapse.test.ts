import { expect, it } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import { spawn } from "node:child_process"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join, resolve } from "node:path"
import { UserId } from "../../../src/domain/Ids.ts"
import { prepare, start } from "../../../src/layers/homeserver/ManagedSynapse.ts"
import { make as makeAccounts } from "../../../src/layers/homeserver/PersonAccounts.ts"
import { portIsFree } from "../../../src/layers/homeserver/SynapseStart.ts"
import * as HomeserverHttp from "../../../src/layers/matrix/HomeserverHttp.ts"
import * as SynapseMatrix from "../../../src/layers/matrix/SynapseMatrix.ts"
import { findMarked } from "../../../src/layers/process/ProcessSweep.ts"
import { AccountExists, AccountNameInvalid } from "../../../src/services/PersonAccounts.ts"
import { eventually, marker, nowhere, temporaryFolder, testConfig } from "./TestSynapse.ts"

const Opened = Schema.parseJson(Schema.Struct({
  access_token: Schema.optional(Schema.String),
  flows: Schema.optional(Schema.Array(Schema.Struct({ stages: Schema.Array(Schema.String) }))),
  errcode: Schema.optional(Schema.String),
  "io.element.e2ee": Schema.optional(Schema.Struct({ default: Schema.Boolean, force_disable: Schema.Boolean }))
}))
const readOpened = Schema.decodeUnknownSync(Opened)
const json = Schema.encodeSync(Schema.parseJson(Schema.Unknown))

const caller = (baseUrl: string) =>
  Effect.map(
    HomeserverHttp.make,
    (http) => (method: "GET" | "POST", path: string, body?: object, token?: string) =>
      http.exchange({
        operation: "test",
        method,
        url: new URL(`${baseUrl}${path}`),
        headers: {
          ...body === undefined ? {} : { "content-type": "application/json" },
          ...token === undefined ? {} : { authorization: `Bearer ${token}` }
        },
        ...body === undefined ? {} : { body: new TextEncoder().encode(json(body)) },
        deadlineSeconds: 30
      }).pipe(
        Effect.map((answer) => ({ status: answer.status, body: readOpened(Buffer.from(answer.body).toString("utf8")) }))
      )
  )

it.scopedLive(
  "[H-01] a managed homeserver keeps its files private, its people invited, its agents reserved",
  () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      const prepared = yield* prepare(testConfig(join(folder, "homeserver"), nowhere))
      const homeserver = yield* start(prepared)
      const data = prepared.config.folder
      expect(statSync(data).mode & 0o777).toBe(0o700)
      for (const name of readdirSync(data, { recursive: true, encoding: "utf8" })) {
        const stat = statSync(join(data, name))
        expect([name, stat.mode & 0o077]).toStrictEqual([name, 0])
      }

      const call = yield* caller(homeserver.baseUrl)
      const signup = yield* call("POST", "/_matrix/client/v3/register", { username: "eve", password: "password" })
      expect(signup.status).toBe(401)
      expect(signup.body.flows).toStrictEqual([{ stages: ["m.login.registration_token", "m.login.dummy"] }])
      const wellKnown = yield* call("GET", "/.well-known/matrix/client")
      expect(wellKnown.body["io.element.e2ee"]).toStrictEqual({ default: false, force_disable: true })

      // Neither crossfire's token nor its sender is an administrator's.
      const asToken = Redacted.value(prepared.access.asToken)
      const admin = yield* call("GET", "/_synapse/admin/v1/registration_tokens", undefined, asToken)
      expect(admin).toMatchObject({ status: 403, body: { errcode: "M_FORBIDDEN" } })

      const accounts = yield* makeAccounts({
        baseUrl: homeserver.baseUrl,
        registrationSharedSecret: prepared.registrationSharedSecret
      })
      const password = Redacted.make("a good password")
      yield* accounts.create("alice", password)
      expect(yield* Effect.flip(accounts.create("alice", password))).toStrictEqual(
        new AccountExists({ localpart: "alice" })
      )
      for (
        const [localpart, reason] of [["Alice", "characters"], ["", "characters"], ["cf-alice", "reserved"]] as const
      ) {
        expect(yield* Effect.flip(accounts.create(localpart, password))).toStrictEqual(
          new AccountNameInvalid({ localpart, reason })
        )
      }
      const login = (user: string, secret: string) =>
        call("POST", "/_matrix/client/v3/login", {
          type: "m.login.password",
          identifier: { type: "m.id.user", user },
          password: secret
        })
      const opened = yield* login("alice", "a good password")
      expect(opened.status).toBe(200)
      expect((yield* login("alice", "another")).status).toBe(403)
      const asAlice = yield* call("GET", "/_synapse/admin/v1/registration_tokens", undefined, opened.body.access_token)
      expect(asAlice.status).toBe(403)
      // [H-02] The password is in no file of the homeserver's.
      for (const name of readdirSync(data, { recursive: true, encoding: "utf8" })) {
        if (statSync(join(data, name)).isFile() && !name.startsWith("homeserver.db")) {
          expect(readFileSync(join(data, name), "latin1")).not.toContain("a good password")
        }
      }
    }),
  60_000
)

it.scopedLive(
  "a second start keeps tokens, port and accounts; the scope's end leaves no process and frees the port",
  () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      const agent = UserId.make("@cf-agent:cf.test")
      const first = yield* prepare(testConfig(folder, nowhere))
      const transaction = {
        as: agent,
        type: "m.room.message",
        transactionId: "kept",
        content: { body: "x", msgtype: "m.text" }
      }
      const told = yield* Effect.scoped(Effect.gen(function*() {
        const homeserver = yield* start(first)
        const matrix = yield* SynapseMatrix.make(first.access)
        yield* matrix.ensureUser(agent, "agent")
        const roomId = yield* matrix.createDirectRoom(agent, UserId.make("@alice:cf.test"), "room")
        return { pid: yield* homeserver.pid, roomId, eventId: yield* matrix.send({ ...transaction, roomId }) }
      }))
      expect(told.pid).toBeTypeOf("number")
      expect(yield* findMarked(marker(first))).toStrictEqual([])
      expect(yield* portIsFree(first.kept.port)).toBe(true)

      const second = yield* prepare(testConfig(folder, nowhere))
      expect(second.access.baseUrl).toBe(first.access.baseUrl)
      expect(Redacted.value(second.access.asToken)).toBe(Redacted.value(first.access.asToken))
      yield* start(second)
      const matrix = yield* SynapseMatrix.make(second.access)
      expect(yield* matrix.joinedRooms(agent)).toStrictEqual([told.roomId])
      // The device keeps the transaction ID's meaning over the restart.
      expect(yield* matrix.send({ ...transaction, roomId: told.roomId })).toBe(told.eventId)
      // The first boundary of another process is none that the homeserver has in its cache.
      const earlier = yield* matrix.boundary
      yield* matrix.send({ ...transaction, roomId: told.roomId, transactionId: "later" })
      const another = yield* SynapseMatrix.make(second.access)
      expect(yield* another.boundary).not.toBe(earlier)

      const renamed = yield* Effect.flip(prepare({ ...testConfig(folder, nowhere), serverName: "other.test" }))
      expect(renamed.message).toContain(`is "cf.test" and cannot become "other.test"`)
    }),
  60_000
)

it.scopedLive(
  "a homeserver that dies is started again, on the same port and with what it had",
  () =>
    Effect.gen(function*() {
      const prepared = yield* prepare(testConfig(yield* temporaryFolder, nowhere))
      const homeserver = yield* start(prepared)
      const matrix = yield* SynapseMatrix.make(prepared.access)
      const before = yield* matrix.boundary
      const pid = yield* homeserver.pid
      process.kill(pid ?? 0, "SIGKILL")
      yield* eventually(homeserver.pid, (now) => now !== pid)
      yield* homeserver.ready
      expect(yield* homeserver.pid).not.toBe(pid)
      expect(yield* matrix.boundary).toBe(before)
      expect(yield* findMarked(marker(prepared))).toHaveLength(1)
    }),
  60_000
)

it.scopedLive("a killed crossfire takes its homeserver with it", () =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, [resolve("test/layers/homeserver/KilledParent.ts"), folder], {
          stdio: ["ignore", "pipe", "inherit"]
        })
      ),
      (child) => Effect.sync(() => child.kill("SIGKILL"))
    )
    const pid = yield* Effect.async<number>((resume) => {
      child.stdout.on("data", (data: Buffer) => resume(Effect.succeed(Number(data.toString("utf8")))))
    })
    const prepared = yield* prepare(testConfig(folder, nowhere))
    expect(yield* findMarked(marker(prepared))).toStrictEqual([pid])
    child.kill("SIGKILL")
    yield* eventually(findMarked(marker(prepared)), (pids) => pids.length === 0)
    expect(yield* portIsFree(prepared.kept.port)).toBe(true)
  }), 60_000)
