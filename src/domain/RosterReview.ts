// What the owner reads before approving: the whole roster with every setting, as Markdown in as many messages as it takes.
// Whoever submitted the roster wrote its values, so nothing in them can pass for the bot's own words or stay unseen.
import { DateTime } from "effect"
import { type EnrollmentCode, shownCode } from "./EnrollmentCode.ts"
import { displayName, type Roster, type RosterAgent } from "./Roster.ts"

export interface RosterReview {
  readonly roster: Roster
  readonly code: EnrollmentCode
  readonly expiresAtMillis: number
  /** The agents that this fleet has already. */
  readonly existing: ReadonlyArray<{ readonly key: string; readonly name: string }>
}

/** What one message may cost, far below what an event can carry with its text twice: as written and as HTML. */
const maxMessageCost = 40_000
const maxBlockCost = 30_000

const hidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** Characters that cannot be seen, or turn the reading direction, are written out. */
const visible = (text: string, keep: string): string =>
  text.replace(
    hidden,
    (character) => keep.includes(character) ? character : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`
  )

const longestRun = (text: string): number => Math.max(0, ...Array.from(text.matchAll(/`+/gu), ([run]) => run.length))

/** One line of code that nothing in the value can end. */
const inline = (value: string): string => {
  const text = visible(value, "")
  const mark = "`".repeat(longestRun(text) + 1)
  return text.startsWith("`") || text.endsWith("`") ? `${mark} ${text} ${mark}` : `${mark}${text}${mark}`
}

const block = (text: string): string => {
  const fence = "`".repeat(Math.max(3, longestRun(text) + 1))
  return [fence, text, fence].join("\n")
}

const encoder = new TextEncoder()

/** Bytes in an event: the text as JSON, and once more as HTML in JSON. Generous rather than exact. */
const costOf = (text: string): number => {
  const escaped = (text.match(/[&<>"'\\\n\t]/gu) ?? []).length
  return 2 * encoder.encode(text).length + 6 * escaped
}

/** Cut between lines where that fits, else between characters. Joined again, the pieces are the text. */
const pieces = (text: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  let piece = ""
  let cost = 0
  const add = (part: string) => {
    const more = costOf(part)
    if (cost + more > maxBlockCost && piece !== "") {
      found.push(piece)
      piece = ""
      cost = 0
    }
    piece += part
    cost += more
  }
  for (const line of text.match(/[^\n]*\n|[^\n]+$/gu) ?? []) {
    if (costOf(line) <= maxBlockCost) add(line)
    else for (const character of line) add(character)
  }
  return piece === "" ? found : [...found, piece]
}

const histories = {
  shared: "one conversation for all rooms",
  "per-room": "a conversation of its own for each room"
} as const

const instructionsOf = (agent: RosterAgent): ReadonlyArray<string> => {
  if (agent.instructions === null || agent.instructions === "") return ["- instructions: none"]
  const parts = pieces(visible(agent.instructions.replaceAll("\r\n", "\n"), "\n\t"))
  return parts.map((part, index) => {
    const which = parts.length === 1 ? "" : `, part ${index + 1} of ${parts.length}`
    return `- instructions of ${inline(agent.name)}${which}:\n\n${block(part.replace(/\n$/u, ""))}`
  })
}

const agentBlocks = (review: RosterReview, agent: RosterAgent, index: number): ReadonlyArray<string> => {
  const { existing, roster } = review
  const before = existing.find(({ key }) => key === agent.key)
  const change = before === undefined
    ? ""
    : before.name === agent.name
    ? " (exists; keeps its identity)"
    : ` (exists as ${inline(before.name)} and is renamed; keeps its identity)`
  const effort = agent.effort === null ? "the engine's own" : inline(agent.effort)
  const [first, ...rest] = instructionsOf(agent)
  return [
    [
      `**${index + 1}. ${inline(agent.name)}**${change}, shown as ${inline(displayName(agent.name, roster.owner))}`,
      "",
      `- key: ${inline(agent.key)}`,
      `- engine: ${inline(agent.engine)}, model ${inline(agent.model)}, effort ${effort}`,
      `- works in: ${inline(agent.work_folder)}`,
      `- history: ${histories[agent.history_mode]}`,
      "- who can wake it: only you"
    ].join("\n"),
    ...(first === undefined ? [] : [first]),
    ...rest
  ]
}

const fleetBlocks = ({ existing, roster }: RosterReview): ReadonlyArray<string> => {
  if (existing.length === 0) return []
  const staying = existing.filter(({ key }) => roster.agents.every((agent) => agent.key !== key))
  const names = staying.map(({ name }) => inline(name)).join(", ")
  const note = staying.length === 0 ? "" : ` Agents that are not in this request stay as they are: ${names}.`
  return [
    `You have this fleet already.${note} If the request comes from another root folder of fleetd, the credentials of ` +
    "the former one end, also those of agents that are not in this request."
  ]
}

const count = (agents: number): string => agents === 1 ? "1 agent" : `${agents} agents`

/** The messages in their order; the last one says how to answer. */
export const renderReview = (review: RosterReview): ReadonlyArray<string> => {
  const { code, expiresAtMillis, roster } = review
  const until = DateTime.formatIso(DateTime.unsafeMake(expiresAtMillis)).slice(0, 16).replace("T", " ")
  const blocks = [
    `**Enrollment ${shownCode(code)}: the fleet ${inline(roster.fleet)} with ${
      count(roster.agents.length)
    }, owned by ` +
    `you, ${inline(roster.owner)}.** Nothing exists before you confirm. Read every entry: confirm only what you ` +
    "started yourself.",
    ...fleetBlocks(review),
    ...roster.agents.flatMap((agent, index) => agentBlocks(review, agent, index)),
    `That was the whole request (${count(roster.agents.length)}), open until ${until} UTC. Each agent acts with the ` +
    `power of the machine's user it runs as. Answer \`confirm ${shownCode(code)}\` to enroll exactly this, or ` +
    `\`reject ${shownCode(code)}\`.`
  ]
  const messages: Array<string> = []
  let message = ""
  for (const text of blocks) {
    const joined = message === "" ? text : `${message}\n\n${text}`
    if (costOf(joined) <= maxMessageCost || message === "") message = joined
    else {
      messages.push(message)
      message = text
    }
  }
  return [...messages, message]
}
