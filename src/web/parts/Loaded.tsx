// What was asked of the server: its waiting, its failure with a way to ask again, or what came. What stood before stays in
// sight while it is asked for anew.
import { useAtomRefresh, useAtomValue } from "@effect-atom/atom-react"
import type * as Atom from "@effect-atom/atom/Atom"
import * as Result from "@effect-atom/atom/Result"
import { Skeleton, VisuallyHidden } from "@mantine/core"
import { Option, Schema } from "effect"
import { type ReactNode, useEffect } from "react"
import { NotAllowed, NotFound } from "../../domain/api/CrossfireErrors.ts"
import { endsSession, problemOf } from "../Problem.ts"
import { session } from "../Session.ts"
import { UserIdText } from "./Outside.tsx"
import { ProblemNote } from "./ProblemNote.tsx"

const Waiting = () => (
  <div aria-busy="true" className="waiting">
    <VisuallyHidden role="status">Loading</VisuallyHidden>
    <Skeleton height={18} width="38%" radius="sm" />
    <Skeleton height={64} radius="md" />
    <Skeleton height={64} radius="md" />
  </div>
)

/** As long as it is this person who asks, asking again changes nothing. */
const refused = Schema.is(Schema.Union(NotAllowed, NotFound))

export const Loaded = <A, E>({ atom, children, whoSees }: {
  readonly atom: Atom.Atom<Result.Result<A, E>>
  readonly children: (value: A) => ReactNode
  /** To whom it is shown at all, for whoever is refused. */
  readonly whoSees?: string
}) => {
  const result = useAtomValue(atom)
  const again = useAtomRefresh(atom)
  const askSession = useAtomRefresh(session)
  const problem = problemOf(result)
  const over = endsSession(problem)
  useEffect(() => {
    if (over) askSession()
  }, [over, askSession])
  const value = Result.value(result)
  const view = Result.value(useAtomValue(session))
  if (problem === null && Option.isNone(value)) return <Waiting />
  return (
    <>
      {problem === null ? null : <ProblemNote problem={problem} retry={again} />}
      {whoSees === undefined || !refused(problem) || Option.isNone(view) ? null : (
        <p className="who-sees">
          {whoSees} You are signed in as <UserIdText userId={view.value.userId} />.
        </p>
      )}
      {Option.isNone(value) ? null : children(value.value)}
    </>
  )
}
