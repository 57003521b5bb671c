// Reading session files without Pi: what the guard lets through, what it refuses, and what counts as a receipt.
import { describe, expect, it } from "@effect/vitest"
import { Effect, Option, Schema } from "effect"
import { appendFileSync, mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { renderDeliveryHeader } from "../../../src/domain/DeliveryHeader.ts"
import { Binding } from "../../../src/domain/History.ts"
import { encodeHeader, PiHeader } from "../../../src/layers/pi/PiEntries.ts"
import { history } from "../../../src/layers/pi/PiHistory.ts"
import { turnIdOf } from "../../../src/layers/pi/PiTurn.ts"
import { newDelivery, temporaryFolder } from "../../support/EngineSession.ts"

const encode = Schema.encodeSync(Schema.parseJson(Schema.Unknown))

const entry = (id: string, parentId: string | null, message: object = { role: "assistant", content: [] }) =>
  encode({ type: "message", id, parentId, timestamp: "2026-11-30T12:00:00.000Z", message })

const userEntry = (id: string, parentId: string | null, text: string) =>
  entry(id, parentId, { role: "user", content: [{ type: "text", text }] })

const header = (id: string) =>
  encodeHeader(new PiHeader({ type: "session", version: 3, id, timestamp: "2026-11-30T12:00:00.000Z", cwd: "/work" }))

/** A session file of the entries a, b, c in one chain, and the position behind each of its lines. */
const setUp = Effect.gen(function*() {
  const path = join(yield* temporaryFolder, "session.jsonl")
  const binding = new Binding({ engine: "pi", nativeId: "session-1", path })
  writeFileSync(path, header("session-1"))
  const start = yield* history.guard(binding, null)
  const append = (line: string) =>
    Effect.zipRight(Effect.sync(() => appendFileSync(path, `${line}\n`)), history.guard(binding, null))
  const a = yield* append(entry("a", null))
  const b = yield* append(entry("b", "a"))
  const c = yield* append(entry("c", "b"))
  const replace = (from: string, to: string) => writeFileSync(path, readFileSync(path, "utf8").replace(from, to))
  return { path, binding, positions: { start, a, b, c }, append, replace }
})

describe("PiHistory", () => {
  it.scopedLive("the guard's position stands behind the last line and goes on from any earlier one", () =>
    Effect.gen(function*() {
      const { append, binding, path, positions } = yield* setUp
      expect(positions.c).toMatchObject({ offset: statSync(path).size, lineOffset: positions.b.offset, entry: "c" })
      for (const known of [positions.start, positions.a, positions.b, positions.c]) {
        expect(yield* history.guard(binding, known)).toEqual(positions.c)
      }
      const d = yield* append(entry("d", "c"))
      expect(yield* history.guard(binding, positions.c)).toEqual(d)
    }))

  it.scopedLive("[C-11] a missing, empty, foreign or shorter file is named as what it is", () =>
    Effect.gen(function*() {
      const { binding, path, positions } = yield* setUp
      const broken = Effect.flip(history.guard(binding, positions.c))
      truncateSync(path, positions.b.offset)
      expect(yield* broken).toMatchObject({
        _tag: "HistoryShorter",
        expectedBytes: positions.c.offset,
        foundBytes: positions.b.offset
      })
      writeFileSync(path, header("session-2"))
      expect(yield* broken).toMatchObject({ _tag: "HistoryForeign", expected: "session-1", found: "session-2" })
      writeFileSync(path, header("session-1").slice(0, -1))
      expect(yield* broken).toMatchObject({
        _tag: "HistoryUnreadable",
        reason: expect.stringContaining("no session header")
      })
      writeFileSync(path, "")
      expect(yield* broken).toMatchObject({ _tag: "HistoryUnreadable", reason: "it is empty" })
      expect(statSync(path).size).toBe(0)
      rmSync(path)
      expect(yield* broken).toMatchObject({ _tag: "HistoryMissing", path })
      mkdirSync(path)
      expect(yield* broken).toMatchObject({ _tag: "HistoryUnreadable", reason: "it is no file" })
    }))

  it.scopedLive("[C-11] a rewritten line at the saved position is noticed, also at equal length", () =>
    Effect.gen(function*() {
      const { binding, positions, replace } = yield* setUp
      replace(`"id":"b"`, `"id":"x"`)
      expect(yield* Effect.flip(history.guard(binding, positions.b))).toMatchObject({
        _tag: "HistoryUnreadable",
        reason: `the line at byte ${positions.a.offset} is not the one that was there before`
      })
      expect(yield* Effect.flip(history.findReceipt(binding, positions.b, newDelivery()))).toMatchObject({
        _tag: "HistoryUnreadable"
      })
    }))

  it.scopedLive("[C-11] a missing middle line, a fork or a line of another kind breaks the chain", () =>
    Effect.gen(function*() {
      const { append, binding, path, positions, replace } = yield* setUp
      const whole = readFileSync(path, "utf8")
      replace(`${entry("b", "a")}\n`, "")
      for (const known of [null, positions.start, positions.a]) {
        expect(yield* Effect.flip(history.guard(binding, known))).toMatchObject({
          reason: expect.stringContaining("does not follow the entry before it")
        })
      }
      writeFileSync(path, whole)
      // A second writer: its entry hides c from the branch that Pi would show to the model.
      expect(yield* Effect.flip(append(entry("d", "b")))).toMatchObject({ _tag: "HistoryUnreadable" })
      writeFileSync(path, whole)
      expect(yield* Effect.flip(append(entry("d", null)))).toMatchObject({ _tag: "HistoryUnreadable" })
      writeFileSync(path, whole)
      expect(yield* Effect.flip(append(`{"some":"thing"}`))).toMatchObject({
        reason: expect.stringContaining("is no session entry")
      })
    }))

  it.scopedLive("a torn last line is tolerated, before and after Pi has ended it", () =>
    Effect.gen(function*() {
      const { append, binding, path, positions } = yield* setUp
      appendFileSync(path, entry("d", "c").slice(0, 40))
      expect(yield* history.guard(binding, positions.b)).toEqual(positions.c)
      const ended = yield* append("")
      expect(ended.entry).toBe("c")
      expect(yield* history.guard(binding, ended)).toEqual(ended)
      const e = yield* append(entry("e", "c"))
      expect(yield* history.guard(binding, positions.c)).toEqual(e)
      expect(yield* history.guard(binding, ended)).toEqual(e)
    }))

  it.scopedLive("[D-01] only a user entry whose first line is the header is a receipt, and only behind the position", () =>
    Effect.gen(function*() {
      const { append, binding, positions } = yield* setUp
      const id = newDelivery()
      const line = renderDeliveryHeader(id, { agent: "x" })
      const find = history.findReceipt(binding, positions.c, id)
      yield* append(userEntry("d", "c", `Look: ${line}`))
      yield* append(userEntry("e", "d", `${renderDeliveryHeader(newDelivery(), {})}\n${line}\n> ${line}`))
      yield* append(entry("f", "e", { role: "toolResult", toolCallId: "1", content: [{ type: "text", text: line }] }))
      yield* append(entry("g", "f", { role: "assistant", content: [{ type: "text", text: line }] }))
      yield* append(encode({ type: "custom_message", id: "h", parentId: "g", content: line }))
      const before = yield* append(userEntry("i", "h", "plain"))
      expect(yield* find).toEqual(Option.none())

      const after = yield* append(userEntry("j", "i", `${line}\nhello`))
      yield* append(entry("k", "j"))
      const receipt = Option.getOrThrow(yield* find)
      expect(receipt).toMatchObject({ entry: "j", form: "entry", turnId: `pi:${id}` })
      expect(receipt.position).toEqual(after)
      expect(Option.isSome(yield* history.findReceipt(binding, before, id))).toBe(true)
      expect(yield* history.findReceipt(binding, after, id)).toEqual(Option.none())
      expect(yield* history.turnEnd(binding, positions.c, turnIdOf(id))).toEqual(Option.none())
    }))

  it.scopedLive("[D-01] an entry that lacks its line feed alone is a receipt: Pi loads it", () =>
    Effect.gen(function*() {
      const { append, binding, path, positions } = yield* setUp
      const id = newDelivery()
      const text = userEntry("d", "c", renderDeliveryHeader(id, {}))
      appendFileSync(path, text.slice(0, -1))
      expect(yield* history.findReceipt(binding, positions.c, id)).toEqual(Option.none())
      appendFileSync(path, text.slice(-1))
      const receipt = Option.getOrThrow(yield* history.findReceipt(binding, positions.b, id))
      expect(receipt.entry).toBe("d")
      expect(receipt.position).toEqual(positions.c)
      appendFileSync(path, "\n")
      const e = yield* append(entry("e", "d"))
      expect(yield* history.guard(binding, receipt.position)).toEqual(e)
    }))

  it.scopedLive("work is finished when the newest message is the assistant's and it stopped by itself", () =>
    Effect.gen(function*() {
      const { append, binding } = yield* setUp
      const receipt = yield* append(userEntry("d", "c", renderDeliveryHeader(newDelivery(), {})))
      const finished = history.finished(binding, receipt, null)
      const assistant = (stopReason: string) => ({ role: "assistant", content: [], stopReason })
      expect(yield* finished).toBe(false)
      yield* append(entry("e", "d", assistant("toolUse")))
      expect(yield* finished).toBe(false)
      yield* append(entry("f", "e", assistant("stop")))
      yield* append(encode({ type: "usage", id: "g", parentId: "f", kind: "cache_warm" }))
      expect(yield* finished).toBe(true)
      yield* append(userEntry("h", "g", "more"))
      expect(yield* finished).toBe(false)
      yield* append(entry("i", "h", assistant("aborted")))
      expect(yield* finished).toBe(false)
    }))

  it.scopedLive("absence is not claimed of a file whose chain is broken", () =>
    Effect.gen(function*() {
      const { binding, path, positions } = yield* setUp
      appendFileSync(path, `${entry("e", "d")}\n`)
      expect(yield* Effect.flip(history.findReceipt(binding, positions.c, newDelivery()))).toMatchObject({
        _tag: "HistoryUnreadable"
      })
    }))

  it.scopedLive("lines across read boundaries and multi-byte text are found where they stand", () =>
    Effect.gen(function*() {
      const { append, binding, path, positions } = yield* setUp
      let parent = "c"
      for (let n = 0; n < 8; n++) {
        yield* append(userEntry(`n${n}`, parent, "⟦é\u2028".repeat(40_000 + n * 7)))
        parent = `n${n}`
      }
      const id = newDelivery()
      const end = yield* append(userEntry("last", parent, `${renderDeliveryHeader(id, {})}\n${"𝄞".repeat(100_000)}`))
      expect(end.offset).toBe(statSync(path).size)
      const receipt = Option.getOrThrow(yield* history.findReceipt(binding, positions.a, id))
      expect(receipt.position).toEqual(end)
    }))
})
