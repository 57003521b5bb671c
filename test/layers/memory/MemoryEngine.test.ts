import { Deferred, Effect } from "effect"
import type { Binding } from "../../../src/domain/History.ts"
import * as MemoryEngine from "../../../src/layers/memory/MemoryEngine.ts"
import type { NativeSession } from "../../../src/services/NativeEngine.ts"
import { activationIn } from "../../support/EngineSession.ts"
import { contract, type EngineWorld, failureText, visibleText } from "../engine/contract.ts"

const world = (kind: "codex" | "pi") =>
  Effect.map(Deferred.make<void>(), (atEndlessWork): EngineWorld => {
    const shown: Array<number> = []
    const newest = (file: { readonly lines: ReadonlyArray<{ readonly kind: string; readonly text?: string }> }) =>
      file.lines.findLast((line) => line.kind === "user")?.text ?? ""
    const engines = MemoryEngine.make({
      onSubmit: (_, { text }) =>
        Effect.succeed({ delayMillis: 1, turn: text.includes(failureText) ? "failed" : "completed" }),
      onTurn: ({ file, say }) =>
        Effect.suspend(() => {
          shown.push(file.lines.length)
          const text = newest(file)
          if (text.includes(failureText)) return Effect.void
          if (!text.includes("endless")) return say(visibleText)
          return Effect.zipRight(Deferred.succeed(atEndlessWork, undefined), Effect.never).pipe(
            Effect.onInterrupt(() => say("word 0 word 1 "))
          )
        }),
      onActivate: () => Effect.succeed(true)
    })
    const { files } = engines.histories
    const linesOf = ({ path }: Binding) => files.get(path)?.lines ?? []
    const change = (work: () => unknown) => Effect.asVoid(Effect.sync(work))
    return {
      engine: engines.engine(kind),
      activation: activationIn("/memory", "/work", "scripted-1"),
      textFor: (work) => work === "fail" ? failureText : work,
      working: Deferred.await(atEndlessWork),
      shown: Effect.sync(() => [...shown]),
      kill: (session: NativeSession) =>
        Effect.suspend(() => {
          const process = engines.running().find(({ processId }) => processId === session.processId)
          return process === undefined ? Effect.void : engines.kill(process.runId)
        }),
      files: {
        count: Effect.sync(() => files.size),
        remove: ({ path }) => change(() => files.delete(path)),
        empty: (binding) => change(() => linesOf(binding).splice(0)),
        cut: (binding, behind) => change(() => linesOf(binding).splice(behind.offset)),
        rewriteLine: (binding, { lineOffset }) =>
          change(() => linesOf(binding).splice(lineOffset, 1, { kind: "header", nativeId: "rewritten" })),
        replace: (binding) => change(() => linesOf(binding).splice(0, 1, { kind: "header", nativeId: "another" }))
      },
      failure: "the provider failed",
      tellsTurnEnds: kind === "codex"
    }
  })

for (const kind of ["codex", "pi"] as const) contract(`the twin in memory, as ${kind}`, world(kind))
