// Codex's history reader on crafted files: what it takes as proof, what it refuses, and that its memory stays bounded.
import { expect, it } from "@effect/vitest"
import { Effect, Either, Option } from "effect"
import { createHash } from "node:crypto"
import {
  appendFileSync,
  closeSync,
  mkdtempSync,
  openSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { renderDeliveryHeader } from "../../../src/domain/DeliveryHeader.ts"
import { Binding, HistoryPosition } from "../../../src/domain/History.ts"
import { DeliveryId, TurnId } from "../../../src/domain/Ids.ts"
import { history } from "../../../src/layers/codex/CodexHistory.ts"

const thread = "01a22d29-4470-7a61-ab6c-63a52269a3df"
const delivery = DeliveryId.make("0b0e7c1e-6c3b-4f0e-9a51-3f1f2f3d4c5b")
const other = DeliveryId.make("11111111-2222-4333-8444-555555555555")
const turn = TurnId.make("01a22d29-449b-7d51-aa29-77e9cbfda7c0")

/** A line as Codex writes it, its keys in Codex's order. */
const line = (ordinal: number, type: string, payload: unknown) =>
  `${JSON.stringify({ timestamp: "2026-11-30T15:53:29.011Z", ordinal, type, payload })}\n`

const meta = (id = thread) => line(0, "session_meta", { session_id: id, id, base_instructions: { text: "ü" } })
const userText = (ordinal: number, text: string) =>
  line(ordinal, "response_item", {
    type: "message",
    role: "user",
    content: [{ type: "input_text", text }],
    internal_chat_message_metadata_passthrough: { turn_id: turn }
  })
const userEntry = (ordinal: number, clientId: string | null, text: string) =>
  line(ordinal, "event_msg", {
    type: "item_completed",
    thread_id: thread,
    turn_id: turn,
    item: { type: "UserMessage", id: "item", client_id: clientId, content: [{ type: "text", text }] }
  })
const agentText = (ordinal: number, text: string) =>
  line(ordinal, "event_msg", {
    type: "item_completed",
    turn_id: turn,
    item: { type: "AgentMessage", id: "item", client_id: delivery, content: [{ type: "Text", text }] }
  })
const inputOf = (id: DeliveryId, text: string) => `${renderDeliveryHeader(id, { kind: "message" })}\n${text}`

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "codex-history-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const fileOf = (...parts: ReadonlyArray<string | Buffer>) =>
  Effect.map(folder, (path) => {
    const binding = new Binding({ engine: "codex", nativeId: thread, path: join(path, "rollout.jsonl") })
    for (const part of parts) appendFileSync(binding.path, part)
    return binding
  })

const failureOf = <A, E>(effect: Effect.Effect<A, E>) => Effect.map(Effect.either(effect), Either.getLeft)

it.scopedLive("[D-01] the position is right after the last complete line, with its ordinal and hash", () =>
  Effect.gen(function*() {
    const last = userText(1, "grüß dich")
    const binding = yield* fileOf(meta(), last)
    const position = yield* history.guard(binding, null)
    const lineOffset = Buffer.byteLength(meta())
    expect(position).toEqual(
      new HistoryPosition({
        offset: lineOffset + Buffer.byteLength(last),
        lineOffset,
        entry: "1",
        lineHash: createHash("sha256").update(last.trimEnd()).digest("hex")
      })
    )
    // What is appended later, torn or not, leaves a saved position as good as it was.
    appendFileSync(binding.path, "garbage\n")
    appendFileSync(binding.path, userText(3, "later").slice(0, -9))
    const later = yield* history.guard(binding, position)
    expect(later.offset).toBe(position.offset + "garbage\n".length)
    expect(later.entry).toBe("")
    expect((yield* history.guard(binding, later)).offset).toBe(later.offset)
  }))

it.scopedLive("[C-11] a missing, empty, foreign, linked or headless history is an error that says so", () =>
  Effect.gen(function*() {
    const missing = new Binding({ engine: "codex", nativeId: thread, path: join(yield* folder, "none", "a.jsonl") })
    expect(yield* failureOf(history.guard(missing, null))).toMatchObject(Option.some({ _tag: "HistoryMissing" }))

    const empty = yield* fileOf("")
    expect(yield* failureOf(history.guard(empty, null))).toMatchObject(
      Option.some({ _tag: "HistoryUnreadable", reason: "it is empty" })
    )

    const foreign = yield* fileOf(meta("another"), userText(1, "x"))
    expect(yield* failureOf(history.guard(foreign, null))).toMatchObject(
      Option.some({ _tag: "HistoryForeign", expected: thread, found: "another" })
    )

    const torn = yield* fileOf(meta().trimEnd())
    expect(yield* failureOf(history.guard(torn, null))).toMatchObject(Option.some({ _tag: "HistoryUnreadable" }))

    const headless = yield* fileOf(userText(0, "x"))
    expect(yield* failureOf(history.guard(headless, null))).toMatchObject(Option.some({ _tag: "HistoryUnreadable" }))

    const whole = yield* fileOf(meta())
    const link = new Binding({ ...whole, path: `${whole.path}.link` })
    symlinkSync(whole.path, link.path)
    expect(yield* failureOf(history.guard(link, null))).toMatchObject(Option.some({ _tag: "HistoryUnreadable" }))
    const asFolder = new Binding({ ...whole, path: yield* folder })
    expect(yield* failureOf(history.guard(asFolder, null))).toMatchObject(Option.some({ _tag: "HistoryUnreadable" }))
  }))

it.scopedLive("[C-11] a history that became shorter or was rewritten before the saved position is an error", () =>
  Effect.gen(function*() {
    const binding = yield* fileOf(meta(), userText(1, "first"), userText(2, "second"))
    const known = yield* history.guard(binding, null)

    writeFileSync(binding.path, meta() + userText(1, "first"))
    expect(yield* failureOf(history.guard(binding, known))).toMatchObject(
      Option.some({ _tag: "HistoryShorter", expectedBytes: known.offset })
    )

    // The same length, another text: for every reader, since a receipt behind it would prove nothing.
    writeFileSync(binding.path, meta() + userText(1, "first") + userText(2, "s3cond") + userEntry(3, delivery, "x"))
    const rewritten = Option.some({ _tag: "HistoryUnreadable" })
    expect(yield* failureOf(history.guard(binding, known))).toMatchObject(rewritten)
    expect(yield* failureOf(history.findReceipt(binding, known, delivery))).toMatchObject(rewritten)
    expect(yield* failureOf(history.turnEnd(binding, known, turn))).toMatchObject(rewritten)

    // Lines before it that moved by a byte.
    writeFileSync(binding.path, meta() + userText(1, "f1rst!") + userText(2, "second"))
    expect(yield* failureOf(history.guard(binding, known))).toMatchObject(rewritten)
  }))

it.scopedLive("[D-01] the receipt is the user entry with the delivery's client ID, and only behind the position", () =>
  Effect.gen(function*() {
    const text = inputOf(delivery, "Hello")
    const binding = yield* fileOf(meta())
    const before = yield* history.guard(binding, null)
    expect(yield* history.findReceipt(binding, before, delivery)).toEqual(Option.none())

    appendFileSync(binding.path, userText(1, text) + userEntry(2, delivery, text) + agentText(3, "ok"))
    const receipt = Option.getOrThrow(yield* history.findReceipt(binding, before, delivery))
    expect(receipt).toMatchObject({ entry: "2", form: "entry", turnId: turn })
    expect(receipt.position.offset).toBe(Buffer.byteLength(meta() + userText(1, text) + userEntry(2, delivery, text)))
    expect(yield* history.findReceipt(binding, before, other)).toEqual(Option.none())
    expect(yield* history.findReceipt(binding, receipt.position, delivery)).toEqual(Option.none())
  }))

it.scopedLive("[D-01] text without its entry is a receipt of its own kind; a torn line is none", () =>
  Effect.gen(function*() {
    const text = inputOf(delivery, "Hello")
    const whole = userText(1, text)
    const binding = yield* fileOf(meta(), whole.slice(0, -2))
    const before = yield* history.guard(binding, null)
    expect(yield* history.findReceipt(binding, before, delivery)).toEqual(Option.none())

    // Its LF alone is missing: the engine loads it, so it proves; but it is no place to go on from.
    appendFileSync(binding.path, whole.slice(-2, -1))
    const early = Option.getOrThrow(yield* history.findReceipt(binding, before, delivery))
    expect(early).toMatchObject({ entry: "1", form: "text-only", turnId: turn, position: before })
    expect(yield* history.guard(binding, before)).toEqual(before)

    appendFileSync(binding.path, "\n")
    appendFileSync(binding.path, userEntry(2, delivery, text).slice(0, -20))
    const receipt = Option.getOrThrow(yield* history.findReceipt(binding, before, delivery))
    expect(receipt).toMatchObject({ entry: "1", form: "text-only", turnId: turn })
    expect(receipt.position.offset).toBe(Buffer.byteLength(meta() + whole))

    // The engine ends a torn line when it goes on, and it stays as garbage.
    appendFileSync(binding.path, `\n${userText(3, inputOf(other, "next"))}`)
    const again = Option.getOrThrow(yield* history.findReceipt(binding, before, delivery))
    expect(again).toEqual(receipt)
  }))

it.scopedLive("[D-01] a quote, a manifest or a notice about a delivery never proves it", () =>
  Effect.gen(function*() {
    const header = renderDeliveryHeader(delivery, { kind: "message" })
    const quoting = [
      `${renderDeliveryHeader(other, { unknown: delivery })}\n${header}\nHello`,
      `> ${header}`,
      ` ${header}`,
      `The delivery ${delivery} is unknown.`,
      `"${header}`
    ]
    const binding = yield* fileOf(
      meta(),
      ...quoting.map((text, index) => userText(1 + 2 * index, text) + userEntry(2 + 2 * index, other, text)),
      userEntry(20, null, header),
      userEntry(21, `x${delivery}`, header),
      agentText(22, header),
      line(23, "response_item", {
        type: "message",
        role: "assistant",
        content: [{ type: "output_text", text: header }]
      }),
      line(24, "response_item", {
        type: "message",
        role: "developer",
        content: [{ type: "input_text", text: header }]
      }),
      line(25, "response_item", {
        type: "message",
        role: "user",
        content: [{ type: "input_text", text: "first" }, { type: "input_text", text: header }]
      }),
      line(26, "response_item", { type: "function_call_output", call_id: "c", output: header }),
      line(27, "compacted", { message: header, replacement_history: [{ role: "user", content: header }] }),
      `${header}\n`
    )
    const start = new HistoryPosition({
      offset: Buffer.byteLength(meta()),
      lineOffset: 0,
      entry: "0",
      lineHash: createHash("sha256").update(meta().trimEnd()).digest("hex")
    })
    expect(yield* history.findReceipt(binding, start, delivery)).toEqual(Option.none())
    expect(Option.isSome(yield* history.findReceipt(binding, start, other))).toBe(true)
  }))

it.scopedLive("[D-01] the end of exactly that turn is read from the history", () =>
  Effect.gen(function*() {
    const binding = yield* fileOf(meta())
    const start = yield* history.guard(binding, null)
    const second = TurnId.make("turn-2")
    appendFileSync(
      binding.path,
      line(1, "event_msg", { type: "task_started", turn_id: turn }) +
        agentText(2, `"task_complete" "turn_id":"${turn}"`) +
        line(3, "event_msg", { type: "turn_aborted", turn_id: null, reason: "interrupted" }) +
        line(4, "event_msg", { type: "task_complete", turn_id: second, last_agent_message: "x" })
    )
    expect(yield* history.turnEnd(binding, start, turn)).toEqual(Option.none())
    expect(yield* history.turnEnd(binding, start, second)).toEqual(Option.some("completed"))
    const aborted = line(5, "event_msg", { type: "turn_aborted", turn_id: turn, reason: "interrupted" })
    appendFileSync(binding.path, aborted.slice(0, -2))
    expect(yield* history.turnEnd(binding, start, turn)).toEqual(Option.none())
    appendFileSync(binding.path, aborted.slice(-2, -1))
    expect(yield* history.turnEnd(binding, start, turn)).toEqual(Option.some("aborted"))
  }))

it.scopedLive("[C-12] work is finished by its turn's regular end alone, not by a failure or an interrupt", () =>
  Effect.gen(function*() {
    const failed = TurnId.make("turn-2")
    const aborted = TurnId.make("turn-3")
    const binding = yield* fileOf(meta())
    const start = yield* history.guard(binding, null)
    appendFileSync(
      binding.path,
      line(1, "event_msg", { type: "task_complete", turn_id: turn, last_agent_message: "x" }) +
        line(2, "event_msg", { type: "task_complete", turn_id: failed, error: { codex_error_info: "other" } }) +
        line(3, "event_msg", { type: "turn_aborted", turn_id: aborted, reason: "interrupted" })
    )
    expect(yield* history.finished(binding, start, turn)).toBe(true)
    expect(yield* history.turnEnd(binding, start, failed)).toEqual(Option.some("completed"))
    for (const unfinished of [failed, aborted, TurnId.make("turn-4"), null]) {
      expect(yield* history.finished(binding, start, unfinished)).toBe(false)
    }
  }))

it.scopedLive("[D-01] lines of many megabytes and characters across the edges of reads are read whole", () =>
  Effect.gen(function*() {
    // Every read of 1 MiB ends inside of a character of three bytes at some point.
    const long = "語".repeat(1_000_000)
    const text = inputOf(delivery, long)
    const parts = [
      meta(),
      agentText(1, long),
      agentText(2, `${long}ab`),
      userText(3, text),
      userEntry(4, delivery, text)
    ]
    const binding = yield* fileOf(...parts, agentText(5, long))
    const start = yield* history.guard(yield* fileOf(meta()), null)
    const receipt = Option.getOrThrow(yield* history.findReceipt(binding, start, delivery))
    expect(receipt.form).toBe("entry")
    expect(receipt.position.offset).toBe(Buffer.byteLength(parts.join("")))
    const end = yield* history.guard(binding, receipt.position)
    expect(end.entry).toBe("5")
    expect((yield* history.guard(binding, end)).offset).toBe(end.offset)
  }))

it.scopedLive(
  "[D-01] a history of 200 MB is searched from the saved position in bounded memory",
  () =>
    Effect.gen(function*() {
      const binding = yield* fileOf(meta())
      const start = yield* history.guard(binding, null)
      const file = openSync(binding.path, "a")
      // One line far above what is ever read as a whole, then many small ones, garbage among them.
      const block = Buffer.from((agentText(1, "x".repeat(5000)) + "\0garbage\n").repeat(200))
      for (let written = 0; written < 64; written++) writeSync(file, Buffer.alloc(1024 * 1024, 0x20))
      writeSync(file, "\n")
      for (let written = 0; written < 136 * 1024 * 1024; written += block.length) writeSync(file, block)
      const text = inputOf(delivery, "Hello")
      writeSync(file, userText(7, text) + userEntry(8, delivery, text))
      closeSync(file)

      const residentBefore = process.memoryUsage().rss
      const receipt = Option.getOrThrow(yield* history.findReceipt(binding, start, delivery))
      const end = yield* history.guard(binding, receipt.position)
      const grownBytes = process.memoryUsage().rss - residentBefore
      expect(receipt.entry).toBe("8")
      expect(end.offset).toBe(receipt.position.offset)
      expect(end.offset).toBeGreaterThan(200 * 1024 * 1024)
      expect(grownBytes).toBeLessThan(100 * 1024 * 1024)
    }),
  60_000
)
