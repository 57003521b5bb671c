// Signing in to the web pages with the Matrix account: a link that the bot sends, good once, soon, and only in the browser
// that asked. Nobody types a code, and no password comes here.
import { Context, type Effect, type Redacted } from "effect"
import type { SignInRefused } from "../domain/api/AccessErrors.ts"
import type { LinkSecret } from "../domain/Session.ts"
import type { StoreFailed } from "./Database.ts"
import type { NewSession } from "./Sessions.ts"

export class SignIn extends Context.Tag("crossfire/services/SignIn")<
  SignIn,
  {
    /**
     * Answers at once, alike for anybody: whether there is such a person is found out afterwards. The secret is the asking
     * browser's; the link works with it alone. Too many for one person are dropped in silence, and a restart forgets what
     * was not sent yet.
     */
    readonly ask: (user: string) => Effect.Effect<{ readonly browserSecret: Redacted.Redacted }, StoreFailed>
    /**
     * Uses the link and begins a session, in one transaction. A link in another browser stays good for its own. The bot's
     * message is taken back afterwards.
     */
    readonly complete: (request: {
      readonly link: LinkSecret
      /** From the asking cookie: of every ask of this browser that is not long ago. */
      readonly browserSecrets: ReadonlyArray<Redacted.Redacted>
      readonly browser: string
    }) => Effect.Effect<NewSession, SignInRefused | StoreFailed>
  }
>() {}
