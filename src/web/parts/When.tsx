// A time as people read it: how long ago or from now, with the whole date for whoever points at it.
import { useAtomValue } from "@effect-atom/atom-react"
import * as Atom from "@effect-atom/atom/Atom"
import * as Result from "@effect-atom/atom/Result"
import { Clock, Schedule, Stream } from "effect"

const now = Atom.make(Stream.repeatEffectWithSchedule(Clock.currentTimeMillis, Schedule.spaced("20 seconds")))

const whole = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" })
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" })

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

const distance = (millis: number): string => {
  const size = Math.abs(millis)
  if (size < minute) return "just now"
  if (size < hour) return relative.format(Math.trunc(millis / minute), "minute")
  if (size < day) return relative.format(Math.trunc(millis / hour), "hour")
  return relative.format(Math.trunc(millis / day), "day")
}

export const When = ({ millis }: { readonly millis: number }) => {
  const current = Result.getOrElse(useAtomValue(now), () => null)
  const text = whole.format(millis)
  return <span title={text}>{current === null ? text : distance(millis - current)}</span>
}

export const WholeTime = ({ millis }: { readonly millis: number }) => <span>{whole.format(millis)}</span>
