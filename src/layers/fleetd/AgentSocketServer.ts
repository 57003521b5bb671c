// The agent's own socket: its HTTP contract served to whoever can open it, which is this agent's activation.
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServer from "@effect/platform/HttpServer"
import { withMaxBodySize } from "@effect/platform/HttpServerRequest"
import { Effect, Layer, Option, type Scope } from "effect"
import { AgentSocketApi, maxToolBodyBytes } from "../../domain/api/AgentSocket.ts"
import { type ListenFailed, serve } from "../http/ScopedHttpServer.ts"
import type { ToolCaller } from "./ToolCaller.ts"

const handlers = (caller: ToolCaller) =>
  HttpApiBuilder.group(AgentSocketApi, "tools", (group) =>
    group
      .handle("send", ({ payload }) =>
        caller.send(payload.toolCallId ?? null, {
          room: payload.room,
          text: payload.text,
          replyTo: payload.replyTo ?? null,
          mentions: payload.mentions ?? []
        }))
      .handle("whoami", () => caller.whoAmI))

/** Serves the contract on that path until the scope closes. */
export const open = (path: string, caller: ToolCaller): Effect.Effect<void, ListenFailed, Scope.Scope> =>
  Effect.gen(function*() {
    const scope = yield* Effect.scope
    const layer = Layer.mergeAll(
      HttpApiBuilder.api(AgentSocketApi).pipe(Layer.provide(handlers(caller))),
      HttpApiBuilder.Router.Live,
      HttpApiBuilder.Middleware.layer,
      HttpServer.layerContext
    )
    // A map of its own: routes of two sockets must not meet in one shared router.
    const context = yield* Layer.buildWithMemoMap(layer, yield* Layer.makeMemoMap, scope)
    const app = yield* Effect.provide(HttpApiBuilder.httpApp, context)
    const handle = yield* NodeHttpServer.makeHandler(withMaxBodySize(app, Option.some(maxToolBodyBytes))).pipe(
      Effect.provide(context)
    )
    yield* serve({ socketPath: path }, handle)
  })
