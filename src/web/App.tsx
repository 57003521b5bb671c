// Which page stands at which address, and who gets to see it: without a session, only those of signing in.
import { useAtomRefresh, useAtomValue } from "@effect-atom/atom-react"
import * as Result from "@effect-atom/atom/Result"
import { Loader, VisuallyHidden } from "@mantine/core"
import { Option } from "effect"
import { useEffect, useRef } from "react"
import { Navigate, Route, Routes, useLocation } from "react-router"
import type { SessionView } from "../domain/api/People.ts"
import { pagePaths } from "../domain/WebPaths.ts"
import { Fleets } from "./pages/Fleets.tsx"
import { Invitations } from "./pages/Invitations.tsx"
import { NotHere } from "./pages/NotHere.tsx"
import { People } from "./pages/People.tsx"
import { Requests } from "./pages/Requests.tsx"
import { Review } from "./pages/Review.tsx"
import { Sessions } from "./pages/Sessions.tsx"
import { SignIn } from "./pages/SignIn.tsx"
import { SignInLink } from "./pages/SignInLink.tsx"
import { ProblemNote } from "./parts/ProblemNote.tsx"
import { endsSession, problemOf } from "./Problem.ts"
import { onSignedInElsewhere, remember } from "./ReturnTo.ts"
import { session, SessionProvider } from "./Session.ts"
import { Alone } from "./shell/Alone.tsx"
import { Shell } from "./shell/Shell.tsx"

/** Another person in the same browser: a new page from the server, nothing of the former one stays in memory. */
const useOnePerson = (view: Option.Option<SessionView>) => {
  const first = useRef<string | null>(null)
  const userId = Option.isSome(view) ? view.value.userId : null
  useEffect(() => {
    if (first.current !== null && userId !== null && userId !== first.current) location.reload()
    first.current ??= userId
  }, [userId])
}

const SignedIn = () => {
  const result = useAtomValue(session)
  const again = useAtomRefresh(session)
  const { pathname } = useLocation()
  const problem = problemOf(result)
  const view = Result.value(result)
  useEffect(() => onSignedInElsewhere(again), [again])
  useOnePerson(view)
  if (endsSession(problem)) {
    remember(pathname)
    return <Navigate to={pagePaths.signIn} replace />
  }
  if (Option.isNone(view)) {
    return (
      <Alone>
        {problem === null
          ? (
            <div className="starting">
              <Loader size="sm" aria-hidden />
              <VisuallyHidden role="status">Loading</VisuallyHidden>
            </div>
          )
          : (
            <>
              <h1>crossfire does not answer</h1>
              <ProblemNote problem={problem} retry={again} />
            </>
          )}
      </Alone>
    )
  }
  return (
    <SessionProvider value={view.value}>
      <Shell>
        <Routes>
          <Route path={pagePaths.fleets} element={<Fleets />} />
          <Route path={pagePaths.requests} element={<Requests />} />
          <Route path={pagePaths.review} element={<Review />} />
          <Route path={pagePaths.people} element={<People />} />
          <Route path={pagePaths.invitations} element={<Invitations />} />
          <Route path={pagePaths.sessions} element={<Sessions />} />
          <Route path="*" element={<NotHere />} />
        </Routes>
      </Shell>
    </SessionProvider>
  )
}

export const App = () => (
  <Routes>
    <Route path={pagePaths.signIn} element={<SignIn />} />
    <Route path={pagePaths.signInLink} element={<SignInLink />} />
    <Route path="*" element={<SignedIn />} />
  </Routes>
)
