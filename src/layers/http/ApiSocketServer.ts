// An HTTP contract served on a Unix socket, to whoever can open it: the socket's place and mode are the permission.
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import type * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServer from "@effect/platform/HttpServer"
import { withMaxBodySize } from "@effect/platform/HttpServerRequest"
import { Effect, Layer, Option, type Scope } from "effect"
import { type ListenFailed, serve } from "./ScopedHttpServer.ts"

/** Serves until the scope closes. */
export const open = (
  socketPath: string,
  maxBodyBytes: number,
  api: Layer.Layer<HttpApi.Api>
): Effect.Effect<void, ListenFailed, Scope.Scope> =>
  Effect.gen(function*() {
    const scope = yield* Effect.scope
    const layer = Layer.mergeAll(
      api,
      HttpApiBuilder.Router.Live,
      HttpApiBuilder.Middleware.layer,
      HttpServer.layerContext
    )
    // A map of its own: routes of two sockets must not meet in one shared router.
    const context = yield* Layer.buildWithMemoMap(layer, yield* Layer.makeMemoMap, scope)
    const app = yield* Effect.provide(HttpApiBuilder.httpApp, context)
    const handle = yield* NodeHttpServer.makeHandler(withMaxBodySize(app, Option.some(maxBodyBytes))).pipe(
      Effect.provide(context)
    )
    yield* serve({ socketPath }, handle)
  })
