// Keeps pages in view true: follows the server's stream of changes and has asked for again what changed. After an
// interruption everything is asked for again, since words may have been missed. A page behind others holds no connection: a
// browser has six for one address.
import * as Reactivity from "@effect/experimental/Reactivity"
import { Effect, Option, Schema, Stream } from "effect"
import { Change, changesPath, ChangeTopic } from "../domain/api/People.ts"
import { Api } from "./Api.ts"

export type Connection = "connecting" | "live" | "lost"

const firstWaitMillis = 500
const longestWaitMillis = 15_000

const readChange = Schema.decodeUnknownOption(Change)

type Told = { readonly _tag: "Open" } | { readonly _tag: "Change"; readonly topic: ChangeTopic }

/** Ends when the connection does. The browser's own repetition is not used: it gives up for ever on a refusal. */
const once = Stream.asyncScoped<Told>((emit) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const source = new EventSource(changesPath)
      const heard = ({ data }: MessageEvent) =>
        Option.map(readChange(data), ({ topic }) => void emit.single({ _tag: "Change", topic }))
      source.addEventListener("open", () => void emit.single({ _tag: "Open" }))
      source.addEventListener("message", heard)
      source.addEventListener("change", heard)
      source.addEventListener("error", () => {
        source.close()
        void emit.end()
      })
      return source
    }),
    (source) => Effect.sync(() => source.close())
  )
)

const retryEvent = "crossfire:retry"

/** Ends a wait: the machine is online again, or the person wants to try now. */
const wanted = Effect.async<void>((resume) => {
  const done = () => resume(Effect.void)
  addEventListener("online", done)
  addEventListener(retryEvent, done)
  return Effect.sync(() => {
    removeEventListener("online", done)
    removeEventListener(retryEvent, done)
  })
})

export const retryNow = () => void dispatchEvent(new Event(retryEvent))

/** Waits until the page is in view, or is not any more. */
const becomes = (state: DocumentVisibilityState) =>
  Effect.async<void>((resume) => {
    const look = () => {
      if (document.visibilityState === state) resume(Effect.void)
    }
    document.addEventListener("visibilitychange", look)
    look()
    return Effect.sync(() => document.removeEventListener("visibilitychange", look))
  })

const connections = Stream.asyncScoped<Connection, never, Reactivity.Reactivity>((emit) =>
  Effect.gen(function*() {
    const reactivity = yield* Reactivity.Reactivity
    const told = (connection: Connection) => Effect.sync(() => void emit.single(connection))
    let wasLive = false
    let waitMillis = firstWaitMillis
    const hear = (word: Told) =>
      Effect.gen(function*() {
        if (word._tag === "Change") return yield* reactivity.invalidate([word.topic])
        waitMillis = firstWaitMillis
        yield* told("live")
        if (wasLive) yield* reactivity.invalidate([...ChangeTopic.literals, "session"])
        wasLive = true
      })
    const following = Effect.gen(function*() {
      yield* becomes("visible")
      const isLost = yield* Effect.raceFirst(
        Effect.as(Stream.runForEach(once, hear), true),
        Effect.as(becomes("hidden"), false)
      )
      if (!isLost) return
      yield* told("lost")
      // Why it ended may be the session's own end.
      yield* reactivity.invalidate(["session"])
      yield* Effect.raceFirst(Effect.sleep(waitMillis), wanted)
      waitMillis = Math.min(waitMillis * 2, longestWaitMillis)
    })
    yield* Effect.forkScoped(Effect.forever(following))
  })
)

/** Mounted by the shell while somebody is signed in. */
export const connection = Api.runtime.atom(connections, { initialValue: "connecting" })
