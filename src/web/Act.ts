// One change that a person asks for: whether it is under way, and what stood against it, kept where it was asked.
import { useAtomRefresh, useAtomSet } from "@effect-atom/atom-react"
import type * as Atom from "@effect-atom/atom/Atom"
import { Cause, Exit, Option } from "effect"
import { useCallback, useState } from "react"
import { endsSession } from "./Problem.ts"
import { session } from "./Session.ts"

export interface Act<Arg, A> {
  readonly busy: boolean
  readonly problem: unknown
  /** Null: it was refused or failed; `problem` says why. */
  readonly run: (argument: Arg) => Promise<Option.Option<A>>
  readonly clear: () => void
}

export const useAct = <Arg, A, E>(mutation: Atom.AtomResultFn<Arg, A, E>): Act<Arg, A> => {
  const call = useAtomSet(mutation, { mode: "promiseExit" })
  const askSession = useAtomRefresh(session)
  const [state, setState] = useState<{ readonly busy: boolean; readonly problem: unknown }>({
    busy: false,
    problem: null
  })
  const run = useCallback(async (argument: Arg) => {
    setState({ busy: true, problem: null })
    const exit = await call(argument)
    if (Exit.isSuccess(exit)) {
      setState({ busy: false, problem: null })
      return Option.some(exit.value)
    }
    const problem = Cause.isInterruptedOnly(exit.cause) ? null : Cause.squash(exit.cause)
    setState({ busy: false, problem })
    if (endsSession(problem)) askSession()
    return Option.none<A>()
  }, [call, askSession])
  const clear = useCallback(() => setState({ busy: false, problem: null }), [])
  return { busy: state.busy, problem: state.problem, run, clear }
}
