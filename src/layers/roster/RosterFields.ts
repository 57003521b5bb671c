// The fields of a roster file: which there are, of which form, and what is said about a value that does not fit.
// It touches no disk: folders and instruction files are looked at by the reader.
import { Either, ParseResult, Schema } from "effect"
import { quoted } from "../../domain/DeliveryHeader.ts"
import { EngineKind } from "../../domain/Engine.ts"
import { UserId } from "../../domain/Ids.ts"
import { FleetKey, HistoryMode, InstanceKey, RegisteredName } from "../../domain/Roster.ts"

/** A value in the form that the field takes, or what is wrong with it. */
export type Checked<A> = Either.Either<A, string>

const kindOf = (value: unknown): string => {
  if (typeof value === "number" || typeof value === "bigint") return "a number"
  if (typeof value === "boolean") return "true or false"
  if (Array.isArray(value)) return "a list"
  if (value instanceof Date) return "a date"
  return "a table"
}

const string = (value: unknown): Checked<string> => {
  if (typeof value !== "string") return Either.left(`must be a text in quotes, not ${kindOf(value)}`)
  if (value === "") return Either.left("must not be empty")
  return Either.right(value)
}

/** A text that its schema takes; the schema's own message says what is wrong. */
const ofForm = <A>(schema: Schema.Schema<A, string>) => {
  const decode = Schema.decodeEither(schema)
  return (value: unknown): Checked<A> =>
    Either.flatMap(string(value), (text) =>
      Either.mapLeft(decode(text), (error) => {
        const [issue] = ParseResult.ArrayFormatter.formatErrorSync(error)
        return `${quoted(text)} does not fit: ${issue?.message ?? "another form is wanted"}`
      }))
}

const oneOf = <A extends string>(schema: Schema.Schema<A>, said: string) => {
  const decode = Schema.decodeUnknownEither(schema)
  return (value: unknown): Checked<A> =>
    Either.flatMap(string(value), (text) => Either.mapLeft(decode(text), () => `${quoted(text)} ${said}`))
}

const maxNameCharacters = 200
const maxPathCharacters = 1000
const maxEffortCharacters = 40
/** How long an agent's standing instructions may be. */
export const maxInstructionsCharacters = 20_000

// What cannot be seen has no place in a setting that a person is to review.
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

const line = (maxCharacters: number) => (value: unknown): Checked<string> =>
  Either.flatMap(string(value), (text) => {
    if (text.length > maxCharacters) {
      return Either.left(`takes ${maxCharacters} characters at most; these are ${text.length}`)
    }
    if (unseen.test(text)) return Either.left(`${quoted(text)} holds characters that cannot be seen`)
    return Either.right(text)
  })

export const instructionsText = (value: unknown): Checked<string> =>
  Either.flatMap(string(value), (text) => {
    if (text.length > maxInstructionsCharacters) {
      return Either.left(`takes ${maxInstructionsCharacters} characters at most; these are ${text.length}`)
    }
    return text.isWellFormed() && !text.includes("\u0000")
      ? Either.right(text)
      : Either.left("holds characters that no text file should")
  })

export const fleetFields = {
  fleet: ofForm(FleetKey),
  owner: ofForm(UserId)
}

/** Refused rather than passed over: an owner who asks for separate conversations must not get one for all rooms. */
const sharedHistory = (value: unknown): Checked<HistoryMode> =>
  Either.flatMap(
    oneOf(HistoryMode, `is no history mode; there are ${HistoryMode.literals.join(" and ")}`)(value),
    (mode) => mode === "shared" ? Either.right(mode) : Either.left("is not built yet: leave it out, or say \"shared\"")
  )

export const agentFields = {
  key: ofForm(InstanceKey),
  name: ofForm(RegisteredName),
  engine: oneOf(EngineKind, `is not supported; the engines are ${EngineKind.literals.join(" and ")}`),
  model: line(maxNameCharacters),
  effort: line(maxEffortCharacters),
  work_folder: line(maxPathCharacters),
  history_mode: sharedHistory,
  instructions: instructionsText,
  instructions_file: line(maxPathCharacters)
}

export const fleetFieldNames: ReadonlyArray<string> = [...Object.keys(fleetFields), "agent"]
export const agentFieldNames: ReadonlyArray<string> = Object.keys(agentFields)

/** How many slips of the pen lead from one to the other: a character too many, too few or wrong, or two swapped. */
const distance = (one: string, other: string): number => {
  let before: ReadonlyArray<number> = []
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let index = 0; index < one.length; index++) {
    const next = [index + 1]
    for (let column = 1; column <= other.length; column++) {
      const same = other[column - 1] === one[index] ? 0 : 1
      const swapped = index > 0 && column > 1 && one[index] === other[column - 2] &&
        one[index - 1] === other[column - 1]
      next.push(Math.min(
        (row[column] ?? 0) + 1,
        (next[column - 1] ?? 0) + 1,
        (row[column - 1] ?? 0) + same,
        swapped ? (before[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY
      ))
    }
    before = row
    row = next
  }
  return row.at(-1) ?? 0
}

const maxComparedCharacters = 60

/** What is said of a field that does not exist. */
export const unknownField = (name: string, known: ReadonlyArray<string>): string => {
  const compared = name.toLowerCase().replaceAll("-", "_").slice(0, maxComparedCharacters)
  const nearest = known
    .map((candidate) => ({ candidate, steps: distance(compared, candidate) }))
    .toSorted((one, other) => one.steps - other.steps)[0]
  const near = nearest !== undefined && nearest.steps <= Math.max(1, Math.floor(nearest.candidate.length / 3))
  return near
    ? `there is no such field; did you mean "${nearest.candidate}"?`
    : `there is no such field; the fields are ${known.join(", ")}`
}
