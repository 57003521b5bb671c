// What the homeserver calls (its pushes), and `/healthz` for whoever watches over the program.
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Effect, type Redacted, Schema } from "effect"
import { UserId } from "../../domain/Ids.ts"
import { membership } from "../../domain/MatrixEvent.ts"
import * as ApplicationServicePush from "../../layers/matrix/ApplicationServicePush.ts"
import { type Announcement, Announcements } from "../../services/Announcements.ts"
import { HomeserverHealth } from "../../services/HomeserverHealth.ts"
import { namespacePrefix } from "../../services/Matrix.ts"

const isUserId = Schema.is(UserId)

/** Which room, and which user of ours where a membership is concerned. The content decides nothing. */
export const announcementOf = (event: ApplicationServicePush.PushedEvent): Announcement => {
  const { state_key: user } = event
  const isOurs = membership(event) !== null && isUserId(user) && user.startsWith(`@${namespacePrefix}`)
  return { roomId: event.room_id, member: isOurs ? user : null }
}

export const pushRoutes = (hsToken: Redacted.Redacted) =>
  HttpApiBuilder.Router.use((router) =>
    Effect.flatMap(Announcements, (announcements) =>
      router.concat(ApplicationServicePush.router({
        hsToken,
        onEvents: (events) => announcements.accept(events.map(announcementOf))
      })))
  )

export const healthRoute = HttpApiBuilder.Router.use((router) =>
  Effect.flatMap(HomeserverHealth, (health) =>
    router.get(
      "/healthz",
      Effect.flatMap(health.down, (down) =>
        HttpServerResponse.json({ ok: true, homeserver: down ? "down" : "up" }).pipe(Effect.orDie))
    ))
)
