// crossfire's contract served on loopback with answers that a test gives: real HTTP, real schemas, no logic.
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Context, Effect, Layer, Redacted, Schema, Stream } from "effect"
import { createServer } from "node:http"
import type { BodyTooLarge } from "../../src/domain/api/AccessErrors.ts"
import {
  AgentAuthorization,
  AgentPrincipal,
  CrossfireApi,
  FleetAuthorization,
  FleetPrincipal,
  type LeaseGrant,
  LevelEvent,
  levelsPath,
  type PageAnswer,
  ProgramsApi,
  type SendAnswer
} from "../../src/domain/api/Crossfire.ts"
import {
  HomeserverDown,
  type LeaseHeld,
  type MessageRefused,
  type NotAllowed,
  type PageUnusable,
  type ServerBusy,
  StaleGeneration,
  Unauthorized
} from "../../src/domain/api/CrossfireErrors.ts"
import { AgentId, EventId, FleetId, Generation, Incarnation, StreamToken, UserId } from "../../src/domain/Ids.ts"
import { Level } from "../../src/domain/Level.ts"
import { RegisteredName } from "../../src/domain/Roster.ts"

export const incarnation = Incarnation.make("99999999-9999-4999-8999-999999999999")

/** What the server was asked, by endpoint: payload, lease and who asked. */
export interface Asked {
  readonly endpoint: string
  readonly who: string
  readonly payload: unknown
}

/** What some endpoints answer instead of their usual success. */
export interface Answers {
  readonly acquireLease?: Effect.Effect<LeaseGrant, LeaseHeld | ServerBusy>
  readonly page?: Effect.Effect<PageAnswer, NotAllowed | PageUnusable | HomeserverDown | ServerBusy>
  readonly send?: Effect.Effect<SendAnswer, NotAllowed | MessageRefused | ServerBusy>
  readonly acknowledge?: Effect.Effect<{ readonly levelNumber: number }, BodyTooLarge | ServerBusy>
  readonly rotate?: Effect.Effect<{ readonly rotated: number }, NotAllowed | ServerBusy>
  /** Which of the fleet's credentials is good at the moment. */
  readonly fleetToken?: () => string
}

const current = Generation.make(7)
const stale = (headers: { readonly "x-crossfire-generation": Generation }) =>
  headers["x-crossfire-generation"] === current
    ? Effect.void
    : Effect.fail(new StaleGeneration({ given: headers["x-crossfire-generation"], current }))

/** A server on a port of its own; `asked` grows with every request that passed its credential. */
export const serve = (answers: Answers = {}) =>
  Effect.gen(function*() {
    const asked: Array<Asked> = []
    const answer = <A, E>(endpoint: string, who: string, payload: unknown, usual: Effect.Effect<A, E>) =>
      Effect.suspend(() => {
        asked.push({ endpoint, who, payload })
        return usual
      })

    const fleetAuthorization = Layer.succeed(
      FleetAuthorization,
      FleetAuthorization.of({
        bearer: (token) =>
          Redacted.value(token) === (answers.fleetToken?.() ?? "token-of-fleet")
            ? Effect.succeed({
              fleetId: FleetId.make("33333333-3333-4333-8333-333333333333"),
              owner: UserId.make("@alice:test")
            })
            : Effect.fail(new Unauthorized())
      })
    )
    const agentAuthorization = Layer.succeed(
      AgentAuthorization,
      AgentAuthorization.of({
        bearer: (token) => {
          const name = Redacted.value(token).replace("token-of-", "")
          return name === "editor" || name === "reporter"
            ? Effect.succeed({
              agentId: AgentId.make(
                name === "editor" ? "11111111-1111-4111-8111-111111111111" : "22222222-2222-4222-8222-222222222222"
              ),
              fleetId: FleetId.make("33333333-3333-4333-8333-333333333333"),
              owner: UserId.make("@alice:test"),
              userId: UserId.make(`@street-${name}:test`)
            })
            : Effect.fail(new Unauthorized())
        }
      })
    )
    const grant = { generation: current, incarnation, lastsMillis: 30_000 }
    const fleetGroup = HttpApiBuilder.group(CrossfireApi, "fleet", (handlers) => {
      const who = Effect.map(FleetPrincipal, ({ owner }) => owner as string)
      return handlers
        .handle("acquireLease", ({ payload }) =>
          Effect.flatMap(who, (name) =>
            answer("acquireLease", name, payload, answers.acquireLease ?? Effect.succeed(grant))))
        .handle("renewLease", ({ headers }) =>
          Effect.flatMap(who, (name) =>
            answer("renewLease", name, null, Effect.as(stale(headers), grant))))
        .handle("releaseLease", () =>
          Effect.flatMap(who, (name) =>
            answer("releaseLease", name, null, Effect.succeed({ released: true }))))
        .handle("boundary", ({ headers }) =>
          Effect.flatMap(who, (name) =>
            answer("boundary", name, null, Effect.as(stale(headers), { boundary: StreamToken.make("s1_2") }))))
        .handle("rotateCredentials", ({ headers, payload }) =>
          Effect.flatMap(who, (name) =>
            answer(
              "rotateCredentials",
              name,
              payload,
              Effect.zipRight(
                stale(headers),
                answers.rotate ?? Effect.succeed({ rotated: payload.agentTokens.length + 1 })
              )
            )))
        .handle("notice", ({ headers, payload }) =>
          Effect.flatMap(who, (name) =>
            answer("notice", name, payload, Effect.as(stale(headers), { recorded: true as const }))))
    })
    const agentGroup = HttpApiBuilder.group(CrossfireApi, "agent", (handlers) => {
      const who = Effect.map(AgentPrincipal, ({ userId }) =>
        userId as string)
      return handlers
        .handle("page", ({ headers, payload }) =>
          Effect.flatMap(who, (name) =>
            answer(
              "page",
              name,
              payload,
              Effect.zipRight(stale(headers), answers.page ?? Effect.succeed({ records: [], end: null }))
            )))
        .handle("acknowledge", ({ headers, payload }) =>
          Effect.flatMap(who, (name) =>
            answer(
              "acknowledge",
              name,
              payload,
              Effect.zipRight(stale(headers), answers.acknowledge ?? Effect.succeed({ levelNumber: 12 }))
            )))
        .handle("send", ({ headers, payload }) =>
          Effect.flatMap(who, (name) =>
            answer(
              "send",
              name,
              payload,
              Effect.zipRight(
                stale(headers),
                answers.send ?? Effect.succeed({ status: "sent" as const, eventId: EventId.make("$sent") })
              )
            )))
    })
    const down = Effect.fail(new HomeserverDown({ retryAfterMillis: 0 }))
    const enrollmentGroup = HttpApiBuilder.group(CrossfireApi, "enrollment", (handlers) =>
      handlers
        .handle("preflight", () =>
          Effect.succeed({ ok: true as const }))
        .handle("submit", () =>
          Effect.dieMessage("not served"))
        .handle("state", () =>
          Effect.dieMessage("not served"))
        .handle("introduce", () =>
          down))

    /** An empty level of each agent, then silence; the stream stays open. */
    const levels = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"].map((agentId) =>
      new Level({
        agentId: AgentId.make(agentId),
        name: RegisteredName.make("editor"),
        standing: "active",
        incarnation,
        number: 1,
        authorityRevision: 1,
        wakes: [],
        rooms: [],
        redactions: []
      })
    )
    const levelsRoute = HttpApiBuilder.Router.use((router) =>
      router.get(
        levelsPath,
        Effect.succeed(HttpServerResponse.stream(
          Stream.fromIterable(levels).pipe(
            Stream.mapEffect(Schema.encode(LevelEvent)),
            Stream.map((level) =>
              `data: ${level}\n\n`
            ),
            Stream.concat(Stream.never),
            Stream.encodeText
          ),
          { contentType: "text/event-stream" }
        ))
      )
    )

    const api = HttpApiBuilder.api(ProgramsApi).pipe(
      Layer.provide([
        Layer.provide(fleetGroup, fleetAuthorization),
        Layer.provide(agentGroup, agentAuthorization),
        enrollmentGroup
      ])
    )
    const server = NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })
    const served = HttpApiBuilder.serve().pipe(
      Layer.provide(api),
      Layer.provide(levelsRoute),
      Layer.provideMerge(server)
    )
    const context = yield* Layer.build(served)
    const { address } = Context.get(context, HttpServer.HttpServer)
    const port = address._tag === "TcpAddress" ? address.port : 0
    return { url: `http://127.0.0.1:${port}`, asked }
  })
