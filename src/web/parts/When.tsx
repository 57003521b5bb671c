// A time as people read it: how long ago or from now, with the whole date for whoever points at it.
import { useAtomValue } from "@effect-atom/atom-react"
import * as Atom from "@effect-atom/atom/Atom"
import * as Result from "@effect-atom/atom/Result"
import { Clock, Schedule, Stream } from "effect"
import { distance } from "../Distance.ts"

const now = Atom.make(Stream.repeatEffectWithSchedule(Clock.currentTimeMillis, Schedule.spaced("20 seconds")))

const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" })
export const When = ({ millis }: { readonly millis: number }) => {
  const current = Result.getOrElse(useAtomValue(now), () => null)
  const text = whole.format(millis)
  return <span title={text}>{current === null ? text : distance(millis - current)}</span>
}

export const WholeTime = ({ millis }: { readonly millis: number }) => <span>{whole.format(millis)}</span>
