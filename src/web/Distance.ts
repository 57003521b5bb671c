// How far a time is away, in words: rounded to the nearest of the largest unit that fits, so that 7 days are never 6.
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" })

const minuteMillis = 60_000

/** Negative: ago. */
export const distance = (millis: number): string => {
  const minutes = Math.round(millis / minuteMillis)
  if (minutes === 0) return "just now"
  if (Math.abs(minutes) < 60) return relative.format(minutes, "minute")
  const hours = Math.round(minutes / 60)
  return Math.abs(hours) < 24 ? relative.format(hours, "hour") : relative.format(Math.round(hours / 24), "day")
}
