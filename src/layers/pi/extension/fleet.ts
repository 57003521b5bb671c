// Run inside Pi by its own loader: the tool that sends to rooms, and the interrupt that names its turn.
// Plain and self-contained: it imports nothing of this project, and Pi's types are written down as far as they are used.
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
const deliveryHeader = /^⟦fleet delivery ([0-9a-fA-F-]{36})⟧(?=[ \n]|$)/u

const unsure =
  "It is not known whether the message was sent. Look into the room's history before you send it again, and then once only."
const unsent = "Nothing was sent."

interface Answer {
  readonly status: number
  readonly body: string
}

const post = (socketPath: string, body: string, signal: AbortSignal | undefined): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const fail = (text: string) => reject(new Error(text))
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
      response.on(
        "end",
        () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(parts).toString("utf8") })
      )
      response.on("error", () => fail(`The answer of the messaging socket broke off. ${unsure}`))
    })
    call.on("socket", (socket) => socket.once("connect", () => (connected = true)))
    call.on("timeout", () => call.destroy(new Error("no answer in time")))
    call.on("error", (error: NodeJS.ErrnoException) => {
      if (connected) return fail(`The messaging socket gave no answer (${error.code ?? error.message}). ${unsure}`)
      fail(
        `The messaging socket cannot be reached (${
          error.code ?? error.message
        }): the daemon that owns it has stopped or `
          + `is starting again. ${unsent} Try again in a minute; if that fails too, go on without sending and say so in your answer.`
      )
    })
    call.end(body)
  })

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
  const body = JSON.stringify({ toolCallId: id, room, text, replyTo, mentions })
  const answer = await post(socketPath, body, signal)
  const fields = record(answer.body)
  if (answer.status !== 200) {
    const reason = said(fields, "message") ?? said(fields, "error") ?? "without a reason"
    if (answer.status >= 500) throw new Error(`The message failed (${answer.status}): ${reason}. ${unsure}`)
    throw new Error(
      `The message was refused (${answer.status}): ${reason}. ${unsent} Correct the call before you repeat it.`
    )
  }
  const status = said(fields, "status")
  if (status === undefined) throw new Error(`The messaging socket gave an answer of an unknown form. ${unsure}`)
  const eventId = said(fields, "eventId")
  return {
    content: [{ type: "text", text: eventId === undefined ? status : `${status}: ${eventId}` }],
    details: eventId === undefined ? { status } : { status, eventId }
  }
}

const firstText = ({ content }: UserMessage): string =>
  typeof content === "string" ? content : content?.[0]?.type === "text" ? content[0].text ?? "" : ""

export default function(pi: Pi): void {
  /** The delivery whose input the current run works on. */
  let running: string | undefined

  pi.registerTool({
    name: "room_send",
    label: "Send to a room",
    description:
      "Sends one message to a Matrix room. Only what you send with this tool reaches a room: your other output goes to your "
      + "owner alone. Name the room by its ID as it stands in the input that you got.",
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
