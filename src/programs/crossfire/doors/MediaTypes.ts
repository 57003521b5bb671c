// What a body says it is. A form or plain text is what a page of anybody's can have a browser send without asking first.
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import { Option } from "effect"
import { MediaTypeRefused } from "../../../domain/api/AccessErrors.ts"
import { hasBody } from "./BoundedBody.ts"
import type { Route } from "./RouteTable.ts"

const json = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/iu

export const check = (
  request: HttpServerRequest.HttpServerRequest,
  { door, takesJson }: Route
): Option.Option<MediaTypeRefused> => {
  // The homeserver's token comes before its body, and its endpoint reads the body itself.
  if (door === "homeserver" || (!takesJson && !hasBody(request))) return Option.none()
  return json.test((request.headers["content-type"] ?? "").trim()) ? Option.none() : Option.some(new MediaTypeRefused())
}
