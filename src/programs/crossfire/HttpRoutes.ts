// Everything that crossfire answers over HTTP, on its one listener: the contract's groups, the level stream, the
// homeserver's pushes, health.
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Layer, type Redacted } from "effect"
import { ProgramsApi } from "../../domain/api/Crossfire.ts"
import { agentHandlers } from "./AgentHandlers.ts"
import { agentAuthorization, credentialPlacement, fleetAuthorization } from "./BearerAuthorization.ts"
import { enrollmentHandlers } from "./EnrollmentHandlers.ts"
import { fleetHandlers } from "./FleetHandlers.ts"
import { healthRoute, pushRoutes } from "./HomeserverRoutes.ts"
import * as HttpListener from "./HttpListener.ts"
import { levelsRoute } from "./LevelsRoute.ts"

const api = HttpApiBuilder.api(ProgramsApi).pipe(
  Layer.provide(Layer.provide(fleetHandlers, fleetAuthorization)),
  Layer.provide(Layer.provide(agentHandlers, agentAuthorization)),
  Layer.provide(enrollmentHandlers)
)

/** Listens on 127.0.0.1; port 0 is a free one. */
export const layer = (port: number, hsToken: Redacted.Redacted) =>
  HttpApiBuilder.serve().pipe(
    Layer.provide([api, levelsRoute, healthRoute, pushRoutes(hsToken), credentialPlacement]),
    Layer.provideMerge(HttpListener.layer(port))
  )
