// Everything that crossfire answers over HTTP, on its one listener and behind its doors: the contract's groups, the two
// streams, the homeserver's pushes, the web pages, health, the contract as a document.
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServer from "@effect/platform/HttpServer"
import { Effect, Layer, type Redacted } from "effect"
import { CrossfireApi } from "../../domain/api/Crossfire.ts"
import { WebAddress } from "../../services/WebAddress.ts"
import { agentHandlers } from "./AgentHandlers.ts"
import { agentAuthorization, fleetAuthorization } from "./BearerAuthorization.ts"
import * as Doors from "./doors/Doors.ts"
import { routes } from "./doors/RouteTable.ts"
import { enrollmentHandlers } from "./EnrollmentHandlers.ts"
import { fleetHandlers } from "./FleetHandlers.ts"
import { healthRoute, pushRoutes } from "./HomeserverRoutes.ts"
import * as HttpListener from "./HttpListener.ts"
import { levelsRoute } from "./LevelsRoute.ts"
import { openApiRoute } from "./OpenApiRoute.ts"
import { changesRoute } from "./people/ChangesRoute.ts"
import { fleetsHandlers } from "./people/FleetsHandlers.ts"
import { invitationHandlers } from "./people/InvitationHandlers.ts"
import { peopleHandlers } from "./people/PeopleHandlers.ts"
import { personAuthorization } from "./people/PersonAuthorization.ts"
import { requestHandlers } from "./people/RequestHandlers.ts"
import { sessionHandlers } from "./people/SessionHandlers.ts"
import { signInHandlers } from "./people/SignInHandlers.ts"
import { signupHandlers } from "./people/SignupHandlers.ts"
import * as WebPages from "./WebPages.ts"

export interface HttpConfig {
  /** On 127.0.0.1; 0 is a free one. */
  readonly port: number
  readonly hsToken: Redacted.Redacted
  /** How the homeserver reaches this program; null: on this machine, by the port. */
  readonly pushUrl: string | null
  readonly trustedProxies: ReadonlyArray<string>
  readonly webFolder: string
}

const programs = Layer.mergeAll(
  Layer.provide(fleetHandlers, fleetAuthorization),
  Layer.provide(agentHandlers, agentAuthorization),
  enrollmentHandlers
)

const people = Layer.mergeAll(
  sessionHandlers,
  peopleHandlers,
  invitationHandlers,
  signupHandlers,
  fleetsHandlers,
  requestHandlers
).pipe(Layer.provide(personAuthorization), Layer.merge(signInHandlers))

const api = HttpApiBuilder.api(CrossfireApi).pipe(Layer.provide(programs), Layer.provide(people))

const outside = (config: HttpConfig) =>
  Layer.mergeAll(
    levelsRoute,
    changesRoute,
    healthRoute,
    openApiRoute,
    pushRoutes(config.hsToken),
    WebPages.routes(config.webFolder)
  )

/** As the framework serves a contract, with the doors around all of it: nothing is reached but through them. */
const serve = (config: HttpConfig) =>
  Layer.unwrapEffect(Effect.gen(function*() {
    const { origin } = yield* WebAddress
    const { address } = yield* HttpServer.HttpServer
    const port = address._tag === "TcpAddress" ? address.port : config.port
    const app = yield* HttpApiBuilder.httpApp
    const doors = Doors.make({
      routes,
      origin,
      port,
      pushUrl: config.pushUrl ?? `http://127.0.0.1:${port}`,
      trustedProxies: config.trustedProxies
    })
    return HttpServer.serve(doors(app))
  }))

export const layer = (config: HttpConfig) =>
  serve(config).pipe(
    Layer.provide([api, outside(config)]),
    Layer.provide([HttpApiBuilder.Router.Live, HttpApiBuilder.Middleware.layer]),
    Layer.provideMerge(HttpListener.layer(config.port))
  )
