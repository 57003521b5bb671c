// Run inside Pi by its own loader: the tool that sends to rooms, and the interrupt that names its turn.
// Plain and self-contained: it imports nothing of this project, and Pi's types are written down as far as they are used.
import { createHash } from "node:crypto"
import { request } from "node:http"

interface Notifier {
  readonly ui: { readonly notify: (message: string, kind: "info" | "warning" | "error") => void }
  readonly isIdle: () => boolean
  readonly abort: () => void
}

interface UserMessage {
  readonly role: string
  readonly content?: string | ReadonlyArray<{ readonly type: string; readonly text?: string }>
}

interface ToolResult {
  readonly content: ReadonlyArray<{ readonly type: "text"; readonly text: string }>
  readonly details: Readonly<Record<string, unknown>>
}

interface SendParameters {
  readonly room: string
  readonly text: string
  readonly reply_to?: string
  readonly mentions?: ReadonlyArray<string>
}

interface Pi {
  readonly registerTool: (tool: {
    readonly name: string
    readonly label: string
    readonly description: string
    readonly promptSnippet: string
    readonly parameters: object
    readonly execute: (id: string, parameters: SendParameters, signal?: AbortSignal) => Promise<ToolResult>
  }) => void
  readonly registerCommand: (name: string, command: {
    readonly description: string
    readonly handler: (args: string, context: Notifier) => Promise<void>
  }) => void
  readonly on:
    & ((event: "message_start", handler: (event: { readonly message: UserMessage }) => void) => void)
    & ((event: "agent_settled", handler: () => void) => void)
}

const answerLimitBytes = 64 * 1024
const answerDeadlineMs = 60_000
const attempts = 2
/** Longer ones exist, since some providers put state into them. */
const callIdMaxLength = 200
const deliveryHeader = /^⟦fleet delivery ([0-9a-fA-F-]{36})⟧(?=[ \n]|$)/u

const unsure =
  "It is not known whether the message was sent. Look into the room's history before you send it again, and then once only."
const unsent = "Nothing was sent."

interface Answer {
  readonly status: number
  readonly body: string
}

/** The call broke off after the socket had taken it: made again with the same ID, it does not send twice. */
class BrokenOff extends Error {}

const post = (socketPath: string, body: string, signal: AbortSignal | undefined): Promise<Answer> =>
  new Promise((resolve, reject) => {
    let connected = false
    const call = request({
      socketPath,
      path: "/v1/send",
      method: "POST",
      headers: { "content-type": "application/json", "content-length": Buffer.byteLength(body) },
      timeout: answerDeadlineMs,
      ...(signal === undefined ? {} : { signal })
    }, (response) => {
      const parts: Array<Buffer> = []
      let bytes = 0
      response.on("data", (part: Buffer) => {
        bytes += part.length
        if (bytes > answerLimitBytes) call.destroy(new Error("the answer is too long"))
        else parts.push(part)
      })
      response.on("end", () => {
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(parts).toString("utf8") })
      })
      response.on("error", (error) => reject(new BrokenOff(error.message)))
    })
    call.on("socket", (socket) => socket.once("connect", () => (connected = true)))
    call.on("timeout", () => call.destroy(new Error("no answer in time")))
    call.on("error", (error: NodeJS.ErrnoException) => {
      const why = error.code ?? error.message
      const unreachable = `The messaging socket cannot be reached (${why}): the daemon that owns it has stopped or is `
        + `starting again. ${unsent} Try again in a minute; if that fails too, go on without sending and say so in your answer.`
      reject(connected ? new BrokenOff(why) : new Error(unreachable))
    })
    call.end(body)
  })

const postTwice = async (socketPath: string, body: string, signal: AbortSignal | undefined): Promise<Answer> => {
  for (let attempt = 1;; attempt++) {
    try {
      return await post(socketPath, body, signal)
    } catch (error) {
      if (!(error instanceof BrokenOff)) throw error
      if (attempt < attempts && signal?.aborted !== true) continue
      throw new Error(`The messaging socket gave no answer (${error.message}). ${unsure}`, { cause: error })
    }
  }
}

const record = (text: string): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

const said = (fields: Readonly<Record<string, unknown>>, name: string): string | undefined => {
  const value = fields[name]
  return typeof value === "string" ? value : undefined
}

const send = async (id: string, parameters: SendParameters, signal?: AbortSignal): Promise<ToolResult> => {
  // @effect-diagnostics-next-line processEnv:off
  const socketPath = process.env["FLEET_SOCKET"]
  if (socketPath === undefined || socketPath === "") {
    throw new Error(
      `There is no messaging socket in this session. ${unsent} Say in your answer that you could not send.`
    )
  }
  const { mentions, reply_to: replyTo, room, text } = parameters
  const toolCallId = id.length <= callIdMaxLength ? id : createHash("sha256").update(id).digest("hex")
  const answer = await postTwice(socketPath, JSON.stringify({ toolCallId, room, text, replyTo, mentions }), signal)
  const fields = record(answer.body)
  const reason = said(fields, "reason") ?? said(fields, "message") ?? "without a reason"
  if (answer.status === 503) throw new Error(`The message was not taken: ${reason}. ${unsent} Try again in a minute.`)
  if (answer.status >= 400 && answer.status < 500) {
    throw new Error(`The message was refused: ${reason}. ${unsent} Correct the call before you repeat it.`)
  }
  const status = said(fields, "status")
  if (answer.status !== 200 || status === undefined) {
    throw new Error(`The messaging socket gave an answer of an unknown form (${answer.status}). ${unsure}`)
  }
  const eventId = said(fields, "eventId")
  const outcome = status === "queued"
    ? "queued: it is stored and will be sent as soon as possible; do not send it again"
    : eventId === undefined
    ? status
    : `${status}: ${eventId}`
  return { content: [{ type: "text", text: outcome }], details: { status, eventId: eventId ?? null } }
}

const firstText = ({ content }: UserMessage): string =>
  typeof content === "string" ? content : content?.[0]?.type === "text" ? content[0].text ?? "" : ""

export default function(pi: Pi): void {
  /** The delivery whose input the current run works on. */
  let running: string | undefined

  pi.registerTool({
    name: "room_send",
    label: "Send to a room",
    description: "Sends one message to a Matrix room. Only what you send with this tool reaches a room. "
      + "Name the room by its ID as it stands in the input that you got.",
    promptSnippet: "Send a message to a room",
    parameters: {
      type: "object",
      properties: {
        room: { type: "string", minLength: 1, description: "Room ID, starting with !" },
        text: { type: "string", minLength: 1, description: "The message, Markdown" },
        reply_to: { type: "string", description: "Event ID of the message that this one answers, starting with $" },
        mentions: {
          type: "array",
          items: { type: "string" },
          description: "Full user IDs, such as @alice:example.org, of those to be notified"
        }
      },
      required: ["room", "text"],
      additionalProperties: false
    },
    execute: send
  })

  pi.on("message_start", ({ message }) => {
    if (message.role === "user") running = deliveryHeader.exec(firstText(message))?.[1]
  })
  pi.on("agent_settled", () => {
    running = undefined
  })

  // Compared and done in one step of Pi's own event loop: no other turn can begin in between.
  pi.registerCommand("fleet-abort", {
    description: "Interrupt the turn of one delivery: /fleet-abort <delivery ID> <request ID>",
    handler: async (args, context) => {
      const [wanted, requestId] = args.trim().split(/\s+/u)
      const idle = running === undefined || context.isIdle()
      const outcome = idle ? "not-running" : running === wanted ? "requested" : "other-turn"
      context.ui.notify(JSON.stringify({ fleetAbort: requestId ?? "", outcome }), "info")
      if (outcome === "requested") context.abort()
    }
  })
}
