// crossfire's whole HTTP side on loopback over the homeserver in memory: what fleetd sees, without a homeserver process.
import * as HttpServer from "@effect/platform/HttpServer"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { randomUUID } from "node:crypto"
import { features, foundation, rooms } from "../../../src/layers/crossfire/CoreLayer.ts"
import { hashOf } from "../../../src/layers/crypto/Secret.ts"
import * as HttpRoutes from "../../../src/programs/crossfire/HttpRoutes.ts"
import { enrollment, people } from "../../../src/programs/crossfire/Serve.ts"
import { WebAddress } from "../../../src/services/WebAddress.ts"
import { serverName, type TestAgent, type World } from "../../layers/crossfire/World.ts"
import { homeserverProcess, registrationTokens } from "../../support/HomeserverStandIns.ts"

export const hsToken = Redacted.make("hs-token")

export const fleetToken = `cff_${"f".repeat(43)}`
export const agentToken = `cfa_${"a".repeat(43)}`

/** Gives this agent, and its fleet, the credentials above. */
export const credentials = (world: World, agent: TestAgent) =>
  Effect.gen(function*() {
    const { db, sql } = world
    yield* db.transaction(
      sql`UPDATE fleet SET token_hash = ${hashOf(Redacted.make(fleetToken))} WHERE fleet_id = ${agent.fleetId}`
    )
    yield* db.transaction(
      sql`UPDATE agent SET token_hash = ${hashOf(Redacted.make(agentToken))} WHERE agent_id = ${agent.agentId}`
    )
  })

/** The pages' own address: no request on loopback is one of theirs unless it names this host. */
export const origin = "https://crossfire.test"
export const pushHost = "push.test:8448"

const webAddress = Layer.succeed(WebAddress, {
  origin,
  homeserverUrl: "https://matrix.test",
  elementUrl: "https://element.test"
})

export interface ServeOptions {
  readonly pushUrl?: string
  readonly trustedProxies?: ReadonlyArray<string>
  readonly webFolder?: string
}

/** Serves until the scope closes; answers its address. */
export const serve = (world: World, options: ServeOptions = {}) =>
  Effect.gen(function*() {
    const http = HttpRoutes.layer({
      port: 0,
      hsToken,
      pushUrl: options.pushUrl ?? null,
      trustedProxies: options.trustedProxies ?? [],
      webFolder: options.webFolder ?? "/nowhere"
    })
    const layer = features.pipe(
      Layer.provideMerge(http),
      Layer.provideMerge(rooms),
      Layer.provideMerge(people("managed")),
      Layer.provideMerge(enrollment),
      Layer.provideMerge(foundation),
      Layer.provide([webAddress, homeserverProcess(serverName), registrationTokens]),
      Layer.provideMerge(world.outside)
    )
    const context = yield* Layer.build(layer)
    const { address } = Context.get(context, HttpServer.HttpServer)
    return { url: `http://127.0.0.1:${address._tag === "TcpAddress" ? address.port : 0}`, context }
  })

const Json = Schema.parseJson(Schema.Unknown)
const encode = Schema.encodeSync(Json)
const decode = Schema.decodeSync(Json)

export interface Answer {
  readonly status: number
  readonly body: unknown
}

export const call = (
  url: string,
  path: string,
  options: {
    readonly token?: string
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: unknown
    readonly method?: string
  } = {}
): Effect.Effect<Answer> =>
  Effect.promise(async (signal) => {
    const response = await fetch(`${url}${path}`, {
      method: options.method ?? "POST",
      headers: {
        ...options.token === undefined ? {} : { authorization: `Bearer ${options.token}` },
        ...options.body === undefined ? {} : { "content-type": "application/json" },
        ...options.headers
      },
      ...options.body === undefined ? {} : { body: encode(options.body) },
      signal
    })
    const text = await response.text()
    return { status: response.status, body: text === "" ? null : decode(text) }
  })

export const stampHeaders = (stamp: { readonly generation: number; readonly incarnation: string }) => ({
  "x-crossfire-generation": String(stamp.generation),
  "x-crossfire-incarnation": stamp.incarnation
})

export const root = randomUUID()
