// A proof of who asks that still holds when the whole request is here. A body may take its time, and what proved its sender
// may have ended meanwhile: revoked, rotated, demoted. So it is asked for again then; the body is not read before the first.
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import { Effect } from "effect"
import { hasBody } from "./doors/BoundedBody.ts"

export const lasting = <A, E, R>(
  proof: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R | HttpServerRequest.HttpServerRequest> =>
  Effect.flatMap(proof, (first) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
      hasBody(request)
        // Kept with the request: whoever reads it next waits for nothing.
        ? Effect.zipRight(Effect.orDie(request.text), proof)
        : Effect.succeed(first)))
