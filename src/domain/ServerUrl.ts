// Where crossfire is reached: https, or plain http on this machine itself. Credentials travel there.
import { Either, Schema } from "effect"

/** The address is not shown: a person may have typed a credential into it. */
export class ServerUrlRefused extends Schema.TaggedError<ServerUrlRefused>()("ServerUrlRefused", {
  reason: Schema.Literal("malformed", "scheme", "plain-http", "credentials", "query")
}) {
  override get message(): string {
    const told = {
      malformed: "it is no address; one looks like https://crossfire.example.org",
      scheme: "it must begin with https:// (or http:// for this machine itself)",
      "plain-http": "plain http is taken only for this machine itself (127.0.0.1, [::1], localhost); use https",
      credentials: "it holds a user name or password; credentials are never part of the address",
      query: "it ends in a query or fragment; give the bare address"
    }
    return `crossfire's address cannot be used: ${told[this.reason]}`
  }
}

/** The address as the URL standard writes it: numeric IPv4 forms and upper case are already resolved. */
const isLoopback = (hostname: string): boolean =>
  hostname === "localhost" || hostname === "[::1]" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/u.test(hostname)

/** The base address without a slash at its end. */
export const checkServerUrl = (text: string): Either.Either<string, ServerUrlRefused> => {
  const refused = (reason: ServerUrlRefused["reason"]) => Either.left(new ServerUrlRefused({ reason }))
  const url = URL.parse(text.trim())
  if (url === null) return refused("malformed")
  if (url.protocol !== "https:" && url.protocol !== "http:") return refused("scheme")
  if (url.username !== "" || url.password !== "") return refused("credentials")
  if (url.search !== "" || url.hash !== "") return refused("query")
  if (url.protocol === "http:" && !isLoopback(url.hostname)) return refused("plain-http")
  return Either.right(`${url.origin}${url.pathname}`.replace(/\/+$/u, ""))
}
