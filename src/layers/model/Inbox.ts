// What a conversation says about an agent's messages: which wake it, which were answered, and which file it has yet to read.
// It reads the past alone; what is done next is the script's.
import { Either, Schema } from "effect"
import type { Conversation, OfferedTool, Turn } from "./Conversation.ts"
import { type DirectMessage, fileOfInput, messagesOfInput, type RoomMessage } from "./RoomMessages.ts"
import { resolveTool, type ToolRequest } from "./Script.ts"

export const sendToolName = "room_send"

export interface Inbox {
  /** The waking messages of the newest input. */
  readonly newest: ReadonlyArray<RoomMessage>
  /** Those of every input before, oldest first. */
  readonly earlier: ReadonlyArray<RoomMessage>
  /** The direct messages of the newest input. */
  readonly direct: ReadonlyArray<DirectMessage>
  /** The file with the messages of an input, of the newest one first, that was not read yet. */
  readonly unreadFile: string | null
  /** The event IDs of the messages that have an answer. */
  readonly answered: ReadonlySet<string>
  /** How many answers to a message failed. */
  readonly failures: ReadonlyMap<string, number>
}

interface Input {
  readonly room: Array<RoomMessage>
  readonly direct: Array<DirectMessage>
  readonly file: string | null
  fileRead: boolean
}

const shellQuoted = (path: string): string => `'${path.replaceAll("'", "'\\''")}'`

const manifestEnd = "/manifest.json"

/** Every key of an input's JSON files has a line of its own: those of a waking message, as the head that it would have. */
const headsOfJson = [
  "FNR==1{r=e=k=f=s=o=\"\"}",
  "/^ \"roomId\": /{r=$4}",
  "/^   \"eventId\": /{e=$4}",
  "/^   \"kind\": /{k=$4}",
  "/^   \"form\": /{f=$4}",
  "/^   \"sender\": /{s=$4}",
  "/^   \"operationId\": /{o=$4}",
  "/^   \"text\": /&&f==\"message\"&&(k==\"wake\"||k==\"mention\"){print \"── message \"e\" in \"r\" from \"s\" at - [\"k\"]\\n| \"$4}",
  "/^   \"text\": /&&o!=\"\"{print \"── direct message \"o\"\\n| \"$4}"
].join(" ")

const readJson = (folder: string): string => `awk -F'"' '${headsOfJson}' ${shellQuoted(folder)}/*.json | cut -c 1-400`

/** Prints the heads that want an answer, each with the beginning of its text: little enough for every engine to hand on. */
const readCommand = (path: string): string =>
  path.endsWith(manifestEnd)
    ? readJson(path.slice(0, -manifestEnd.length))
    : `grep -E -A 1 '^── (message .*\\[(wake|mention)\\]$|direct message )' ${shellQuoted(path)} | cut -c 1-400`

/** The call of the engine's own shell that reads a file's messages; `null` where none is offered. */
export const readFileCall = (offered: ReadonlyArray<OfferedTool>, path: string): ToolRequest | null => {
  if (resolveTool(offered, "exec_command") !== null) return { name: "exec_command", args: { cmd: readCommand(path) } }
  if (resolveTool(offered, "bash") !== null) return { name: "bash", args: { command: readCommand(path) } }
  return null
}

const decodeArguments = Schema.decodeEither(Schema.parseJson(Schema.Struct({
  reply_to: Schema.optional(Schema.String),
  cmd: Schema.optional(Schema.String),
  command: Schema.optional(Schema.String)
})))

const isSend = (name: string): boolean => name === sendToolName || name.endsWith(`__${sendToolName}`)

const wakes = ({ mark }: RoomMessage): boolean => mark === "wake" || mark === "mention"

const startInput = (text: string): Input => {
  const { direct, room } = messagesOfInput(text)
  return { room: [...room], direct: [...direct], file: fileOfInput(text), fileRead: false }
}

export const readInbox = (conversation: Conversation, isSent: (output: string) => boolean): Inbox => {
  const inputs: Array<Input> = []
  const sending = new Map<string, string>()
  const reading = new Map<string, Input>()
  const answered = new Set<string>()
  const failures = new Map<string, number>()

  const called = (call: Extract<Turn, { readonly _tag: "ToolCall" }>) => {
    const args = Either.getOrNull(decodeArguments(call.argumentsJson))
    if (isSend(call.name) && args?.reply_to !== undefined) sending.set(call.callId, args.reply_to)
    const command = args?.cmd ?? args?.command
    const input = inputs.findLast(({ file }) => file !== null && readCommand(file) === command)
    if (input !== undefined) reading.set(call.callId, input)
  }
  const returned = ({ callId, text }: Extract<Turn, { readonly _tag: "ToolOutput" }>) => {
    const eventId = sending.get(callId)
    if (eventId !== undefined && isSent(text)) answered.add(eventId)
    else if (eventId !== undefined) failures.set(eventId, (failures.get(eventId) ?? 0) + 1)
    sending.delete(callId)
    const input = reading.get(callId)
    if (input === undefined) return
    reading.delete(callId)
    const { direct, room } = messagesOfInput(text)
    input.room.push(...room)
    input.direct.push(...direct)
    input.fileRead = true
  }

  for (const turn of conversation) {
    if (turn._tag === "UserInput" && !turn.injected) inputs.push(startInput(turn.text))
    else if (turn._tag === "ToolCall") called(turn)
    else if (turn._tag === "ToolOutput") returned(turn)
  }
  return {
    newest: inputs.at(-1)?.room.filter(wakes) ?? [],
    earlier: inputs.slice(0, -1).flatMap(({ room }) => room.filter(wakes)),
    direct: inputs.at(-1)?.direct ?? [],
    unreadFile: inputs.findLast(({ file, fileRead }) => file !== null && !fileRead)?.file ?? null,
    answered,
    failures
  }
}
