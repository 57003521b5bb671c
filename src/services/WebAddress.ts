// Where people reach this installation: the web pages' own origin, the homeserver's client API, Element. As the operator set
// them; nothing of a request decides them.
import { Context } from "effect"

export class WebAddress extends Context.Tag("crossfire/services/WebAddress")<
  WebAddress,
  {
    /** Scheme, host and port, without a slash at the end: `https://crossfire.example.org`, or loopback by plain HTTP. */
    readonly origin: string
    readonly homeserverUrl: string
    readonly elementUrl: string
  }
>() {}

/** The page on which an owner reviews an enrollment. */
export const reviewPath = (enrollmentId: string): string => `/requests/${enrollmentId}`
/** The page that uses a sign-in link; the secret follows behind a `#`. */
export const signInPath = "/sign-in/link"
