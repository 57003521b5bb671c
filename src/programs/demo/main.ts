// `npm run demo`: the main job on real parts, with a scripted model. `--once` runs the scenario, prints figures and ends.
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Cause, Clock, Effect, Exit, Logger, Option, Predicate, Stream, SubscriptionRef } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline/promises"
import { parseArgs } from "node:util"
import { projectRoot } from "./Children.ts"
import { follow, type Journey, type Step, summary } from "./Journey.ts"
import { type RoomEvent, textOf } from "./Person.ts"
import * as Stage from "./Stage.ts"

/** A file of its own: it is shown before anything is installed, too. */
const usage = () => readFileSync(join(projectRoot, "src/programs/demo/usage.txt"), "utf8")

const scenario = [
  "Hello! Who of you is here?",
  "Please look at the tests and tell me what is missing.",
  "Thanks. What would you do next?"
]

const print = (line: string) => Effect.sync(() => process.stdout.write(`${line}\n`))

const tellStep = (step: Step) =>
  print(
    `  ${`+${step.afterMillis} ms`.padStart(10)}  ${step.name.padEnd(9)}  ${
      (step.agent ?? "").padEnd(6)
    }  ${step.detail}`
  )

const howToGoOn = (stage: Stage.Stage, folder: string, scripted: boolean): ReadonlyArray<string> => [
  "",
  "The web pages:",
  `  ${stage.address}   sign in as alice; the bot's message with the link is shown here, too`,
  "The same room in Element (Desktop, or a web build that you serve yourself):",
  `  homeserver ${stage.homeserver}   user alice   password ${stage.password}   room "Demo"`,
  "What the fleet does:",
  `  bin/fleet status --root ${stage.root}`,
  `  bin/fleet deliveries --root ${stage.root}`,
  `Logs are in ${join(folder, "logs")}.`,
  ...(scripted
    ? [
      "The agents run on a scripted model. With real ones (your logins of Codex and Pi on this machine are linked):",
      "  npm run demo -- --folder .demo-real --codex-model MODEL --pi-model PROVIDER/MODEL"
    ]
    : []),
  ""
]

const botName = "@cf-bot:"

/** What the bot writes to alice from now on (a sign-in link, a notice): she needs no Matrix client to read it. */
const tellBotMessages = ({ alice }: Stage.Stage) =>
  Effect.gen(function*() {
    const told = new Set((yield* SubscriptionRef.get(alice.events)).map(({ event }) => event.event_id))
    const tell = (seen: RoomEvent) => {
      const text = textOf(seen)
      if (told.has(seen.event.event_id) || !seen.event.sender.startsWith(botName) || text === "") return Effect.void
      told.add(seen.event.event_id)
      return print(["", "cf-bot to alice:", ...text.split("\n").map((line) => `  ${line}`)].join("\n"))
    }
    yield* alice.events.changes.pipe(
      Stream.runForEach((events) => Effect.forEach(events, tell, { discard: true })),
      Effect.forkScoped
    )
  })

/** What is typed is sent as alice; the answers are shown as they come. */
const converse = (stage: Stage.Stage) =>
  Effect.gen(function*() {
    yield* print("Type a message and press Enter; Ctrl-C or an empty line ends everything.")
    const terminal = yield* Effect.acquireRelease(
      Effect.sync(() => createInterface({ input: process.stdin, output: process.stdout })),
      (opened) => Effect.sync(() => opened.close())
    )
    const question = Effect.async<string>((resume) => {
      terminal.question("alice> ").then((text) => resume(Effect.succeed(text)), () => resume(Effect.succeed("")))
      terminal.once("close", () => resume(Effect.succeed("")))
    })
    while (true) {
      const text = (yield* question).trim()
      if (text === "") return
      yield* follow(stage, text, tellStep).pipe(
        Effect.catchAll((error) => print(`  not finished: ${error.message}`))
      )
    }
  })

const run = (options: {
  readonly once: boolean
  readonly folder: string
  readonly models: Stage.StageConfig["models"]
}) =>
  Effect.gen(function*() {
    const startedAt = yield* Clock.currentTimeMillis
    const stage = yield* Stage.make({
      folder: options.folder,
      models: options.models,
      thinkMillis: 300,
      say: (line) => print(`demo: ${line}`)
    })
    yield* print(`demo: ready after ${Math.round(((yield* Clock.currentTimeMillis) - startedAt) / 1000)} s\n`)
    const journeys: Array<Journey> = []
    for (const text of scenario) {
      yield* print(`alice writes: ${text}`)
      journeys.push(yield* follow(stage, text, tellStep))
    }
    yield* print(["", "Summary:", ...summary(journeys)].join("\n"))
    if (options.once) return
    yield* print(howToGoOn(stage, options.folder, options.models === null).join("\n"))
    yield* tellBotMessages(stage)
    yield* converse(stage)
    yield* print("demo: ending; the next start goes on with the same histories")
  }).pipe(
    Effect.scoped,
    Effect.provide([NodeHttpClient.layerUndici, Logger.remove(Logger.defaultLogger)])
  )

const readOptions = () => {
  const { values } = parseArgs({
    options: {
      once: { type: "boolean", default: false },
      folder: { type: "string" },
      "codex-model": { type: "string" },
      "pi-model": { type: "string" },
      help: { type: "boolean", default: false }
    }
  })
  const codex = values["codex-model"]
  const pi = values["pi-model"]
  if ((codex === undefined) !== (pi === undefined)) {
    throw new Error("give both --codex-model and --pi-model, or neither")
  }
  return {
    help: values.help,
    once: values.once,
    folder: values.folder ?? join(projectRoot, ".demo"),
    models: codex === undefined || pi === undefined ? null : { codex, pi }
  }
}

const options = Option.liftThrowable(readOptions)()
if (Option.isNone(options) || options.value.help) {
  process.stderr.write(usage())
  process.exitCode = Option.isNone(options) ? 2 : 0
} else {
  const told = run(options.value).pipe(
    Effect.exit,
    Effect.flatMap((exit) => {
      if (Exit.isSuccess(exit)) return Effect.succeed(0)
      if (Cause.isInterruptedOnly(exit.cause)) return Effect.as(print("\ndemo: everything was ended"), 0)
      const error = Cause.squash(exit.cause)
      const message = Predicate.hasProperty(error, "message") ? String(error.message) : Cause.pretty(exit.cause)
      return Effect.as(Effect.sync(() => process.stderr.write(`demo: ${message}\n`)), 1)
    }),
    Effect.tap((code) =>
      Effect.sync(() => {
        process.exitCode = code
      })
    )
  )
  NodeRuntime.runMain(told, { disableErrorReporting: true })
}
