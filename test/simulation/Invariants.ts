// What must hold whatever was killed when: read off the native histories, the registry and the rooms, never off a log.
import { Effect } from "effect"
import { deliveryIdOfFirstLine } from "../../src/domain/DeliveryHeader.ts"
import type { HistoryFile } from "../../src/layers/memory/MemoryHistories.ts"
import type { Database } from "../../src/services/Database.ts"

/** A person's message as it was sent: `number` counts within its room. */
export interface SentMessage {
  readonly eventId: string
  readonly roomId: string
  readonly number: number
  /** Stored behind its place in the room: its order is the homeserver's own. */
  readonly late: boolean
}

export interface Given {
  readonly eventId: string
  readonly roomId: string
  /** Told as unknown in a notice, with the whole text in a file, rather than given as new. */
  readonly told: boolean
}

const block = /^── message (\$\S+) in (!\S+) from/gmu
const noticeFile = /^Its complete text is in "?([^"\s]+)"? \(/mu

const messagesOf = (text: string, told: boolean): ReadonlyArray<Given> =>
  [...text.matchAll(block)].map((match) => ({ eventId: match[1] ?? "", roomId: match[2] ?? "", told }))

/** A written line never changes, and it is read again at every inspection. */
const readLines = new WeakMap<HistoryFile["lines"][number], ReadonlyArray<Given>>()

const givenByLine = (
  line: HistoryFile["lines"][number],
  files: ReadonlyMap<string, string>
): ReadonlyArray<Given> => {
  if (line.kind !== "user") return []
  const known = readLines.get(line)
  if (known !== undefined) return known
  const [header = ""] = line.text.split("\n", 1)
  const path = / kind=notice(?=\s|$)/u.test(header) ? noticeFile.exec(line.text)?.[1] : undefined
  const given = path === undefined ? messagesOf(line.text, false) : givenInNotice(files.get(path) ?? "", files)
  readLines.set(line, given)
  return given
}

/** Every room message that this history holds, in order; a notice stands for what its file holds. */
export const givenIn = (file: HistoryFile, files: ReadonlyMap<string, string>): ReadonlyArray<Given> =>
  file.lines.flatMap((line) => givenByLine(line, files))

/** A notice can itself have become unknown: its file then is a notice again. */
const givenInNotice = (text: string, files: ReadonlyMap<string, string>): ReadonlyArray<Given> => {
  const inner = noticeFile.exec(text)?.[1]
  return inner === undefined ? messagesOf(text, true) : givenInNotice(files.get(inner) ?? "", files)
}

export const doubledDeliveries = (file: HistoryFile): ReadonlyArray<string> => {
  const seen = new Set<string>()
  const doubled: Array<string> = []
  for (const line of file.lines) {
    const id = line.kind === "user" ? deliveryIdOfFirstLine(line.text) : null
    if (id === null) continue
    if (seen.has(id)) doubled.push(id)
    seen.add(id)
  }
  return doubled
}

/** None lost, none doubled, order kept: what is wrong with what one agent was given, in words. */
export const deliveryProblems = (
  given: ReadonlyArray<Given>,
  sent: ReadonlyArray<SentMessage>
): ReadonlyArray<string> => {
  const problems: Array<string> = []
  const counts = new Map<string, number>()
  for (const one of given) counts.set(one.eventId, (counts.get(one.eventId) ?? 0) + 1)
  for (const message of sent) {
    const count = counts.get(message.eventId) ?? 0
    if (count === 0) problems.push(`message ${message.number} of ${message.roomId} is lost`)
    if (count > 1) problems.push(`message ${message.number} of ${message.roomId} stands ${count} times`)
  }
  const numbers = new Map(sent.map((message) => [message.eventId, message]))
  const last = new Map<string, number>()
  for (const one of given) {
    const message = numbers.get(one.eventId)
    if (message === undefined || message.late) continue
    const before = last.get(message.roomId) ?? 0
    if (message.number < before) problems.push(`message ${message.number} of ${message.roomId} stands after ${before}`)
    last.set(message.roomId, Math.max(before, message.number))
  }
  return problems
}

/** The stream position of an event or token of the homeserver in memory. */
const streamOf = (name: string): number => Number(/(\d+)$/u.exec(name)?.[1] ?? Number.NaN)

/** No cursor ahead of proof: everything at or before it stands in the history. May be asked at any moment. */
export const cursorProblems = (
  fleetDb: Database,
  agentId: string,
  given: ReadonlyArray<Given>,
  sent: ReadonlyArray<SentMessage>
) =>
  Effect.gen(function*() {
    const rows = yield* fleetDb.sql<{ readonly room_id: string; readonly from_token: string }>`
      SELECT room_id, json_extract(cursor, '$.from') AS from_token FROM cursor WHERE agent_id = ${agentId}`
    const known = new Set(given.map((one) => one.eventId))
    return rows.flatMap((row) =>
      sent.filter((message) =>
        message.roomId === row.room_id && streamOf(message.eventId) <= streamOf(row.from_token) &&
        !known.has(message.eventId)
      ).map((message) => `the cursor of ${row.room_id} is past message ${message.number}, which is in no history`)
    )
  })

/** No input past an unknown one: until its notice is confirmed, nothing else of its context is on its way. */
export const unknownProblems = (fleetDb: Database) =>
  Effect.map(
    fleetDb.sql<{ readonly delivery_id: string }>`SELECT later.delivery_id FROM publication AS earlier
      JOIN publication AS later ON later.agent_id = earlier.agent_id AND later.context = earlier.context
        AND later.sequence > earlier.sequence
      WHERE earlier.state = 'unknown' AND earlier.told_by IS NULL
        AND later.state IN ('submitted', 'confirmed') AND later.kind <> 'notice'`,
    (rows) => rows.map((row) => `input ${row.delivery_id} went past an unknown one`)
  )

/** What is still under way: nothing, once everything was healed long enough. */
export const unsettled = (crossfireDb: Database, fleetDb: Database) =>
  Effect.gen(function*() {
    const [fleet] = yield* fleetDb.sql<Record<string, number>>`SELECT
      (SELECT COUNT(*) FROM publication WHERE state IN ('prepared', 'submitted')) AS publications,
      (SELECT COUNT(*) FROM publication WHERE state = 'unknown' AND told_by IS NULL) AS unknown,
      (SELECT COUNT(*) FROM acknowledgment WHERE accepted_at IS NULL) AS acknowledgments,
      (SELECT COUNT(*) FROM outgoing WHERE state = 'waiting') AS outgoing,
      (SELECT COUNT(*) FROM notice WHERE accepted_at IS NULL) AS notices`
    const [crossfire] = yield* crossfireDb.sql<Record<string, number>>`SELECT
      (SELECT COUNT(*) FROM decision WHERE kind IN ('wake', 'mention') AND closed_as IS NULL) AS wakes,
      (SELECT COUNT(*) FROM outbound WHERE state = 'waiting') AS outbound`
    return Object.entries({ ...fleet, ...crossfire }).filter(([, count]) => count > 0).map(([what, count]) =>
      `${what}: ${count}`
    )
  })
