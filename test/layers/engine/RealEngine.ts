// What the contract needs around a real engine: the scripted model's part of the conversation, and its files on disk.
import { Effect } from "effect"
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync
} from "node:fs"
import type { ScriptedModel } from "../../../src/layers/model/ScriptedModel.ts"
import { writeSteps } from "../../../src/layers/model/StepsScript.ts"
import { endless, type EngineTest, kill9 } from "../../support/EngineSession.ts"
import { awaitRequest } from "../../support/ScriptedModel.ts"
import { type EngineWorld, failureText, hiddenText, type HistoryFiles, visibleText } from "./contract.ts"

const script = {
  answer: { reasoning: hiddenText, text: visibleText, chunks: 4 },
  endless,
  fail: { status: 401, message: failureText }
}

const filesBelow = (folder: string): HistoryFiles => ({
  count: Effect.sync(() =>
    existsSync(folder)
      ? readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".jsonl")).length
      : 0
  ),
  remove: ({ path }) => Effect.sync(() => rmSync(path)),
  empty: ({ path }) => Effect.sync(() => truncateSync(path, 0)),
  cut: ({ path }, behind) => Effect.sync(() => truncateSync(path, behind.offset)),
  rewriteLine: ({ path }, { lineOffset }) =>
    Effect.sync(() => {
      const file = openSync(path, "r+")
      writeSync(file, "[", lineOffset)
      closeSync(file)
    }),
  replace: ({ nativeId, path }) =>
    Effect.sync(() =>
      writeFileSync(path, readFileSync(path, "utf8").replaceAll(nativeId, nativeId.split("").toReversed().join("")))
    )
})

export const worldOf = (
  test: EngineTest & { readonly scripted: ScriptedModel },
  { failure, sessionFolder, tellsTurnEnds }: Pick<EngineWorld, "failure" | "tellsTurnEnds"> & {
    readonly sessionFolder: string
  }
): EngineWorld => ({
  engine: test.engine,
  activation: test.activation,
  textFor: (work) => writeSteps(script[work]),
  working: Effect.asVoid(awaitRequest(test.scripted, ({ step }) => step.chunks === endless.chunks)),
  shown: Effect.map(test.scripted.requests.get, (requests) => requests.map(({ itemCount }) => itemCount)),
  kill: kill9,
  files: filesBelow(sessionFolder),
  failure,
  tellsTurnEnds
})
