// Whom somebody means who types a name to sign in. It says nothing of whether there is such a person.
import { Option, Schema } from "effect"
import { UserId } from "./Ids.ts"

const isUserId = Schema.is(UserId)

/**
 * `alice`, `@alice`, `alice:example.org`, `@alice:example.org`. The homeserver writes its people's names in lower case alone;
 * a phone's keyboard begins with a capital. None: it is nobody of this server.
 */
export const readAskedUser = (typed: string, serverName: string): Option.Option<UserId> => {
  const [localpart = "", ...server] = typed.trim().toLowerCase().replace(/^@/u, "").split(":")
  const elsewhere = server.length > 0 && server.join(":") !== serverName.toLowerCase()
  const user = `@${localpart}:${serverName}`
  return !elsewhere && /^[a-z0-9._=/+-]+$/u.test(localpart) && isUserId(user) ? Option.some(user) : Option.none()
}
