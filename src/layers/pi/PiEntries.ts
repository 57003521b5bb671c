// The lines of a Pi session file: its header, and the entries that form one chain by their parents.
import { Either, Schema } from "effect"
import { PiMessage } from "./PiRecords.ts"

/** The form that this product writes; Pi rewrites files of older forms, which would move every saved position. */
export const sessionVersion = 3

export class PiHeader extends Schema.Class<PiHeader>("PiHeader")({
  type: Schema.Literal("session"),
  version: Schema.Literal(sessionVersion),
  id: Schema.NonEmptyString,
  timestamp: Schema.String,
  cwd: Schema.String
}) {}

export class PiEntry extends Schema.Class<PiEntry>("PiEntry")({
  type: Schema.NonEmptyString,
  id: Schema.NonEmptyString,
  parentId: Schema.NullOr(Schema.String),
  message: Schema.optional(Schema.Unknown)
}) {}

const json = Schema.decodeUnknownEither(Schema.parseJson())
const header = Schema.decodeUnknownEither(Schema.parseJson(PiHeader))
const entry = Schema.decodeUnknownEither(PiEntry)
const message = Schema.decodeUnknownEither(PiMessage)

export const encodeHeader = (value: PiHeader): string => `${Schema.encodeSync(Schema.parseJson(PiHeader))(value)}\n`

export const decodeHeader = (line: string): PiHeader | null => Either.getOrElse(header(line), () => null)

/**
 * `blank`: nothing that Pi would load, such as a line that a crash cut short. `foreign`: JSON that is no entry.
 */
export const decodeEntry = (line: string): PiEntry | "blank" | "foreign" => {
  const value = json(line)
  if (Either.isLeft(value) || value.right === null) return "blank"
  return Either.getOrElse(entry(value.right), () => "foreign" as const)
}

export const messageOf = (candidate: PiEntry): PiMessage | null =>
  candidate.type === "message" ? Either.getOrElse(message(candidate.message), () => null) : null

/** The text of a user entry's first block, `null` for every other entry. */
export const userText = (candidate: PiEntry): string | null => {
  const found = messageOf(candidate)
  if (found === null || found.role !== "user") return null
  const { content } = found
  if (content === undefined || typeof content === "string") return content ?? null
  return content[0]?.type === "text" ? content[0].text ?? null : null
}
