// A real homeserver for tests: managed, in a folder of its own, with crossfire's push endpoint beside it and people who act
// over the ordinary client API. It ends with the scope.
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import type * as HttpServerError from "@effect/platform/HttpServerError"
import { Effect, Redacted, Ref, Schedule, Schema, type Scope, SubscriptionRef } from "effect"
import { createHmac, randomUUID } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { EventId, RoomId, type UserId } from "../../../src/domain/Ids.ts"
import {
  type ManagedSynapseConfig,
  prepare,
  type PreparedSynapse,
  start
} from "../../../src/layers/homeserver/ManagedSynapse.ts"
import type { FolderUnusable } from "../../../src/layers/homeserver/Registration.ts"
import type { ServerNameFixed } from "../../../src/layers/homeserver/SynapseFolder.ts"
import type { StartFailed } from "../../../src/layers/homeserver/SynapseStart.ts"
import { type PushedEvent, router } from "../../../src/layers/matrix/ApplicationServicePush.ts"
import * as HomeserverHttp from "../../../src/layers/matrix/HomeserverHttp.ts"
import { type MatrixError, MatrixRefused } from "../../../src/services/Matrix.ts"
import type { People } from "../matrix/contract.ts"

export const serverName = "cf.test"
export const python = resolve(".tools/synapse/bin/python")
export const launcher = resolve("homeserver/launch.py")

export const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "synapse-test-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const unlimited = { per_second: 1000, burst_count: 1000 }
/** Limits for people lifted and cheap password hashes: tests act faster than people do. */
export const testSettings = {
  bcrypt_rounds: 4,
  rc_message: unlimited,
  rc_registration: unlimited,
  rc_room_creation: unlimited,
  rc_invites: { per_room: unlimited, per_user: unlimited, per_issuer: unlimited },
  rc_joins: { local: unlimited, remote: unlimited }
}

export const testConfig = (folder: string, pushUrl: string): ManagedSynapseConfig => ({
  folder,
  serverName,
  port: null,
  publicBaseUrl: null,
  registration: "token",
  serviceId: "crossfire",
  pushUrl,
  settings: testSettings,
  python,
  launcher
})

/** Nobody listens there; a homeserver that cannot push runs all the same. */
export const nowhere = "http://127.0.0.1:9"

/** What every process of that homeserver carries in its environment. */
export const marker = ({ kept }: PreparedSynapse) => ["CROSSFIRE_HOMESERVER", kept.instanceId] as const

/** Looks again until it holds. */
export const eventually = <A, E, R>(look: Effect.Effect<A, E, R>, holds: (value: A) => boolean) =>
  look.pipe(
    Effect.repeat({ until: holds, schedule: Schedule.spaced("50 millis") }),
    Effect.timeout("20 seconds")
  )

const Answered = Schema.Struct({
  nonce: Schema.optional(Schema.String),
  access_token: Schema.optional(Schema.String),
  room_id: Schema.optional(RoomId),
  event_id: Schema.optional(EventId)
})
const toJson = Schema.encodeSync(Schema.parseJson(Schema.Unknown))

/** People over the ordinary client API; each is registered when first seen. */
export const peopleOf = (prepared: PreparedSynapse): Effect.Effect<People, never, Scope.Scope> =>
  Effect.gen(function*() {
    const http = yield* HomeserverHttp.make
    const tokens = new Map<UserId, string>()

    const call = (method: "GET" | "POST" | "PUT", path: string, token: string | null, body?: object) =>
      http.exchange({
        operation: path.split("/").at(-1) ?? path,
        method,
        url: new URL(`${prepared.access.baseUrl}${path}`),
        headers: {
          ...token === null ? {} : { authorization: `Bearer ${token}` },
          ...body === undefined ? {} : { "content-type": "application/json" }
        },
        ...body === undefined ? {} : { body: new TextEncoder().encode(toJson(body)) },
        deadlineSeconds: 30
      }).pipe(Effect.flatMap(HomeserverHttp.decodeAnswer(path.split("/").at(-1) ?? path, Answered)))

    const tokenOf = (user: UserId) =>
      Effect.gen(function*() {
        const known = tokens.get(user)
        if (known !== undefined) return known
        const username = user.slice(1, user.indexOf(":"))
        const { nonce } = yield* call("GET", "/_synapse/admin/v1/register", null)
        const mac = createHmac("sha1", Redacted.value(prepared.registrationSharedSecret)).update(
          [nonce, username, "password", "notadmin"].join("\0")
        ).digest("hex")
        const made = yield* call("POST", "/_synapse/admin/v1/register", null, {
          nonce,
          username,
          password: "password",
          mac
        })
        const token = made.access_token ?? ""
        tokens.set(user, token)
        return token
      })
    const as = (user: UserId, method: "GET" | "POST" | "PUT", path: string, body: object) =>
      Effect.flatMap(tokenOf(user), (token) => call(method, `/_matrix/client/v3${path}`, token, body))
    const room = (roomId: RoomId) => `/rooms/${encodeURIComponent(roomId)}`
    const missing = new MatrixRefused({ operation: "test", status: 200, errcode: "M_MISSING" })
    const eventOf = (answer: typeof Answered.Type): Effect.Effect<EventId, MatrixError> =>
      answer.event_id === undefined ? Effect.fail(missing) : Effect.succeed(answer.event_id)

    return {
      register: (user) => Effect.asVoid(tokenOf(user)),
      deactivate: (user, erase) =>
        Effect.asVoid(as(user, "POST", "/account/deactivate", {
          erase,
          auth: {
            type: "m.login.password",
            identifier: { type: "m.id.user", user: user.slice(1, user.indexOf(":")) },
            password: "password"
          }
        })),
      createRoom: (creator, wanted) =>
        Effect.gen(function*() {
          const visibility = wanted?.visibility
          const { room_id } = yield* as(creator, "POST", "/createRoom", {
            preset: "private_chat",
            ...wanted?.name === undefined || wanted.name === null ? {} : { name: wanted.name },
            initial_state: visibility === undefined
              ? []
              : [{ type: "m.room.history_visibility", content: { history_visibility: visibility } }],
            invite: wanted?.encrypted === true ? [] : wanted?.invite ?? [],
            is_direct: wanted?.isDirect ?? false
          })
          if (room_id === undefined) return yield* missing
          if (wanted?.encrypted === true) {
            // Refused at the creation by the homeserver's settings; its creator has the power to do it afterwards.
            yield* as(creator, "PUT", `${room(room_id)}/state/m.room.encryption/`, {
              algorithm: "m.megolm.v1.aes-sha2"
            })
            for (const user of wanted.invite ?? []) {
              yield* as(creator, "POST", `${room(room_id)}/invite`, { user_id: user })
            }
          }
          return room_id
        }),
      invite: (by, roomId, user) => Effect.asVoid(as(by, "POST", `${room(roomId)}/invite`, { user_id: user })),
      join: (user, roomId) => Effect.asVoid(as(user, "POST", `${room(roomId)}/join`, {})),
      leave: (user, roomId) => Effect.asVoid(as(user, "POST", `${room(roomId)}/leave`, {})),
      kick: (by, roomId, user) => Effect.asVoid(as(by, "POST", `${room(roomId)}/kick`, { user_id: user })),
      send: (user, roomId, content, options) =>
        as(
          user,
          "PUT",
          `${room(roomId)}/send/${options?.type ?? "m.room.message"}/${randomUUID()}`,
          content
        ).pipe(Effect.flatMap(eventOf)),
      setState: (user, roomId, type, stateKey, content) =>
        as(user, "PUT", `${room(roomId)}/state/${type}/${encodeURIComponent(stateKey)}`, content).pipe(
          Effect.flatMap(eventOf)
        ),
      redact: (user, roomId, eventId) =>
        as(user, "PUT", `${room(roomId)}/redact/${encodeURIComponent(eventId)}/${randomUUID()}`, {}).pipe(
          Effect.flatMap(eventOf)
        )
    }
  })

/** How the push endpoint behaves: takes, never answers, or fails. */
export type PushBehaviour = "take" | "hang" | "fail"

export interface TestSynapse {
  readonly prepared: PreparedSynapse
  readonly process: Effect.Effect.Success<ReturnType<typeof start>>
  readonly people: People
  /** Every event that the endpoint took, in the order of arrival. */
  readonly pushed: SubscriptionRef.SubscriptionRef<ReadonlyArray<PushedEvent>>
  /** Transactions that arrived, taken or not. */
  readonly transactions: SubscriptionRef.SubscriptionRef<number>
  readonly behave: (behaviour: PushBehaviour) => Effect.Effect<void>
}

export const make: Effect.Effect<
  TestSynapse,
  StartFailed | FolderUnusable | ServerNameFixed | HttpServerError.ServeError,
  Scope.Scope
> = Effect.gen(function*() {
  const folder = yield* temporaryFolder
  const server = yield* NodeHttpServer.make(() => createServer(), { port: 0, host: "127.0.0.1" })
  const port = server.address._tag === "TcpAddress" ? server.address.port : 0
  const prepared = yield* prepare(testConfig(folder, `http://127.0.0.1:${port}`))
  const pushed = yield* SubscriptionRef.make<ReadonlyArray<PushedEvent>>([])
  const transactions = yield* SubscriptionRef.make(0)
  const behaviour = yield* Ref.make<PushBehaviour>("take")
  const onEvents = (events: ReadonlyArray<PushedEvent>) =>
    Effect.gen(function*() {
      yield* SubscriptionRef.update(transactions, (count) => count + 1)
      const now = yield* Ref.get(behaviour)
      if (now === "hang") return yield* Effect.never
      if (now === "fail") return yield* Effect.fail("told to fail" as const)
      yield* SubscriptionRef.update(pushed, (before) => [...before, ...events])
    })
  yield* server.serve(router({ hsToken: prepared.hsToken, onEvents }))
  const process = yield* start(prepared)
  const people = yield* peopleOf(prepared)
  return { prepared, process, people, pushed, transactions, behave: (next) => Ref.set(behaviour, next) }
})
