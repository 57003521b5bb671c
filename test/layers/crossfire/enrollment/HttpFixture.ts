// crossfire's contract on loopback: enrollment and credentials are the real ones, the other groups only say who asked.
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import type { Default as HttpApp } from "@effect/platform/HttpApp"
import * as HttpMiddleware from "@effect/platform/HttpMiddleware"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Context, Effect, Layer, Logger } from "effect"
import { createServer } from "node:http"
import { AgentPrincipal, CrossfireApi, FleetPrincipal, ProgramsApi } from "../../../../src/domain/api/Crossfire.ts"
import {
  agentAuthorization,
  authorizedFleet,
  fleetAuthorization
} from "../../../../src/programs/crossfire/BearerAuthorization.ts"
import * as Doors from "../../../../src/programs/crossfire/doors/Doors.ts"
import { publicBounds, routes } from "../../../../src/programs/crossfire/doors/RouteTable.ts"
import { enrollmentHandlers } from "../../../../src/programs/crossfire/EnrollmentHandlers.ts"
import { Credentials } from "../../../../src/services/Credentials.ts"
import type { Crossfire } from "./EnrollmentFixture.ts"

const notServed = () => Effect.dieMessage("not served")

const fleetGroup = HttpApiBuilder.group(CrossfireApi, "fleet", (handlers) =>
  handlers
    .handle("acquireLease", notServed)
    .handle("renewLease", notServed)
    .handle("releaseLease", () => Effect.as(FleetPrincipal, { released: true }))
    .handle("boundary", notServed)
    .handle("notice", () => Effect.as(FleetPrincipal, { recorded: true as const }))
    .handle("rotateCredentials", notServed))

const agentGroup = HttpApiBuilder.group(CrossfireApi, "agent", (handlers) =>
  handlers
    .handle("page", () => Effect.as(AgentPrincipal, { records: [], end: null }))
    .handle("acknowledge", notServed)
    .handle("send", notServed))

/** A route outside of the contract: it answers with the fleet that asks. */
const plainRoute = HttpApiBuilder.Router.use((router) =>
  Effect.flatMap(Credentials, (credentials) =>
    router.get(
      "/plain",
      authorizedFleet.pipe(
        Effect.provideService(Credentials, credentials),
        Effect.flatMap(({ fleetId }) => HttpServerResponse.json({ fleetId })),
        Effect.catchAll((error) => HttpServerResponse.text(error._tag, { status: 401 }))
      )
    ))
)

export interface Faults {
  /** Called with the path when an answer is ready: true loses it, after everything was done. */
  loses: (path: string) => boolean
}

/** Serves that crossfire; `lines` are all log lines, whatever their level. */
export const serve = (crossfire: Crossfire) =>
  Effect.gen(function*() {
    const lines: Array<string> = []
    const paths: Array<string> = []
    const faults: Faults = { loses: () => false }
    const log = Logger.replace(
      Logger.defaultLogger,
      Logger.make((entry) => void lines.push(Logger.logfmtLogger.log(entry)))
    )
    const lossy = HttpApiBuilder.middleware((app: HttpApp) =>
      Effect.gen(function*() {
        const { url } = yield* HttpServerRequest.HttpServerRequest
        paths.push(url)
        const response = yield* app
        return faults.loses(url) ? HttpServerResponse.text("<html>bad gateway</html>", { status: 502 }) : response
      })
    )
    const api = HttpApiBuilder.api(ProgramsApi).pipe(
      Layer.provide([
        Layer.provide(fleetGroup, fleetAuthorization),
        Layer.provide(agentGroup, agentAuthorization),
        enrollmentHandlers
      ])
    )
    const server = NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })
    const plain = { method: "GET", path: "/plain", door: "programs", takesJson: false, bounds: publicBounds } as const
    const behindDoors = Effect.gen(function*() {
      const { address } = yield* HttpServer.HttpServer
      const port = address._tag === "TcpAddress" ? address.port : 0
      const doors = Doors.make({
        routes: [...routes, plain],
        origin: "https://pages.test",
        port,
        pushUrl: `http://127.0.0.1:${port}`,
        trustedProxies: []
      })
      return HttpServer.serve(doors(yield* HttpApiBuilder.httpApp), HttpMiddleware.logger)
    })
    const served = Layer.unwrapEffect(behindDoors).pipe(
      Layer.provide([api, plainRoute, lossy]),
      Layer.provide([HttpApiBuilder.Router.Live, HttpApiBuilder.Middleware.layer]),
      Layer.provideMerge(server),
      Layer.provide(Layer.succeedContext(crossfire.context)),
      Layer.provide(log)
    )
    const context = yield* Layer.build(served)
    const { address } = Context.get(context, HttpServer.HttpServer)
    const port = address._tag === "TcpAddress" ? address.port : 0
    return { url: `http://127.0.0.1:${port}`, lines, paths, faults }
  })
