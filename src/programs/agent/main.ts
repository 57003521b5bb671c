// `agent`: the messaging tool inside an agent's environment. The socket named by FLEET_SOCKET says who calls; no option
// does.
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Effect, Option, Schema } from "effect"
import { text as readAll } from "node:stream/consumers"
import * as AgentSocketClient from "../../layers/fleetd/AgentSocketClient.ts"
import { type Answer, answer, type CommandFailure, exitCodes, jsonOption, main } from "../CommandLine.ts"
import { hostEnvironment } from "../HostEnvironment.ts"

class NoSession extends Schema.TaggedError<NoSession>()("NoSession", {}) {
  override get message(): string {
    return "FLEET_SOCKET is not set: this command works only inside an agent's session, started by fleetd"
  }
}

const codes: Readonly<Record<string, number>> = {
  AgentSocketAbsent: exitCodes.notRunning,
  NoSession: exitCodes.notRunning,
  ToolRefused: exitCodes.refused
}

const run = (json: boolean, command: Effect.Effect<Answer, CommandFailure>) =>
  answer("agent", json, (tag) => codes[tag] ?? exitCodes.failed, command)

const connected = Effect.suspend(() => {
  const path = hostEnvironment["FLEET_SOCKET"]
  return path === undefined || path === "" ? Effect.fail(new NoSession()) : AgentSocketClient.connect(path)
})

const send = Command.make("send", {
  json: jsonOption,
  room: Options.text("room").pipe(Options.withDescription("The room's ID; it begins with !")),
  replyTo: Options.text("reply-to").pipe(
    Options.withDescription("The ID of the event that this answers; it begins with $"),
    Options.optional
  ),
  mentions: Options.text("mention").pipe(
    Options.withDescription("The full ID of a user to mention; may be given several times"),
    Options.repeated
  ),
  text: Args.text({ name: "TEXT" }).pipe(
    Args.withDescription("The message in Markdown, or - to read it from standard input")
  )
}, ({ json, mentions, replyTo, room, text }) =>
  run(
    json,
    Effect.gen(function*() {
      const socket = yield* connected
      const whole = text === "-" ? yield* Effect.promise(() => readAll(process.stdin)) : text
      const outcome = yield* socket.send({ room, text: whole, replyTo: Option.getOrNull(replyTo), mentions })
      const said = outcome.status === "sent"
        ? `Sent as ${outcome.eventId ?? "an event"}`
        : "Queued: it is stored and will be sent. Do not send it again"
      return { json: outcome, text: said }
    })
  )).pipe(Command.withDescription("Send a message to a room"))

const whoami = Command.make("whoami", { json: jsonOption }, ({ json }) =>
  run(
    json,
    Effect.gen(function*() {
      const who = yield* Effect.flatMap(connected, (socket) => socket.whoami)
      return { json: who, text: `${who.name} (${who.userId}) of ${who.owner}, context ${who.context}` }
    })
  )).pipe(Command.withDescription("Say which agent this session is"))

const agent = Command.make("agent").pipe(
  Command.withDescription("Talk to chat rooms as the agent of this session"),
  Command.withSubcommands([send, whoami])
)

main("agent", "0.1.0", agent)
