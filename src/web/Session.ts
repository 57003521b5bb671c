// Who is signed in here. Every page stands behind it, and asks it again when an answer says that the session is over.
import * as Atom from "@effect-atom/atom/Atom"
import { Effect } from "effect"
import { createContext, useContext } from "react"
import type { SessionView } from "../domain/api/People.ts"
import { Api } from "./Api.ts"
import { csrfSecret } from "./CsrfSecret.ts"

export const session = Api.runtime.atom(
  Effect.flatMap(Api, (api) => api.session.current()).pipe(
    Effect.tap(({ csrf }) => Effect.sync(() => csrfSecret.set(csrf)))
  )
).pipe(Atom.withReactivity(["session", "sessions"]), Atom.keepAlive)

const Context = createContext<SessionView | null>(null)
export const SessionProvider = Context.Provider

/** For pages behind the sign-in alone. */
export const useSession = (): SessionView => {
  const view = useContext(Context)
  if (view === null) throw new Error("this page stands outside of the session")
  return view
}
