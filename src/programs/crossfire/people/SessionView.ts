// A session as its own browser sees it, with the secret that its page needs to change anything.
import type { Redacted } from "effect"
import type { PersonPrincipal, SessionView } from "../../../domain/api/People.ts"
import { botUser } from "../../../domain/SystemUsers.ts"
import { csrfOf } from "./SessionCookies.ts"

export const sessionView = (
  session: {
    readonly principal: typeof PersonPrincipal.Service
    readonly secret: Redacted.Redacted
    readonly endsAtMillis: number
  },
  serverName: string
): SessionView => ({
  ...session.principal,
  csrf: csrfOf(session.secret),
  serverName,
  bot: botUser(serverName),
  endsAtMillis: session.endsAtMillis
})
