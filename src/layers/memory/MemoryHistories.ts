// Native histories in memory: lines per file, synced or not, which outlive every process. Power loss takes unsynced lines.
import { Effect, Option } from "effect"
import { deliveryIdOfFirstLine } from "../../domain/DeliveryHeader.ts"
import type { EngineKind } from "../../domain/Engine.ts"
import {
  type Binding,
  type HistoryBroken,
  HistoryForeign,
  HistoryMissing,
  HistoryPosition,
  HistoryShorter,
  HistoryUnreadable,
  Receipt
} from "../../domain/History.ts"
import type { TurnId } from "../../domain/Ids.ts"
import type { NativeHistory } from "../../services/NativeEngine.ts"

export type HistoryLine =
  | { readonly kind: "header"; readonly nativeId: string }
  | { readonly kind: "user"; readonly turnId: TurnId; readonly text: string }
  | { readonly kind: "answer"; readonly turnId: TurnId; readonly eventId: string }
  | { readonly kind: "end"; readonly turnId: TurnId; readonly status: "completed" | "failed" | "aborted" }

export interface HistoryFile {
  readonly lines: Array<HistoryLine>
  synced: number
}

export interface MemoryHistories {
  readonly files: Map<string, HistoryFile>
  /** What the history of an engine of that kind tells; Pi's knows no turns and tells no end of one. */
  readonly of: (kind: EngineKind) => NativeHistory
  /** What was never synced is gone, as when the machine goes down. */
  readonly losePower: () => void
}

const describe = (line: HistoryLine | undefined): string =>
  line === undefined ? "" : Object.values(line).join("\u0000").slice(0, 200)

const positionAt = (file: HistoryFile, count: number): HistoryPosition =>
  new HistoryPosition({
    offset: count,
    lineOffset: Math.max(0, count - 1),
    entry: String(count - 1),
    lineHash: describe(file.lines[count - 1])
  })

export const make = (): MemoryHistories => {
  const files = new Map<string, HistoryFile>()

  const opened = (
    { nativeId, path }: Binding,
    known: HistoryPosition | null
  ): Effect.Effect<HistoryFile, HistoryBroken> =>
    Effect.gen(function*() {
      const file = files.get(path)
      if (file === undefined) return yield* new HistoryMissing({ path })
      const [header] = file.lines
      if (header?.kind !== "header") return yield* new HistoryUnreadable({ path, reason: "it has no header" })
      if (header.nativeId !== nativeId) {
        return yield* new HistoryForeign({ path, expected: nativeId, found: header.nativeId })
      }
      if (known === null) return file
      const found = file.lines.length
      if (found < known.offset) {
        return yield* new HistoryShorter({ path, expectedBytes: known.offset, foundBytes: found })
      }
      if (describe(file.lines[known.lineOffset]) !== known.lineHash) {
        const reason = `the line at byte ${known.lineOffset} is not the one that was there before`
        return yield* new HistoryUnreadable({ path, reason })
      }
      return file
    })

  /** What proves something is on disk, and all before it. */
  const sync = (file: HistoryFile) => {
    file.synced = file.lines.length
  }

  const guard: NativeHistory["guard"] = (binding, known) =>
    Effect.map(opened(binding, known), (file) => {
      sync(file)
      return positionAt(file, file.lines.length)
    })

  const findReceipt: NativeHistory["findReceipt"] = (binding, after, deliveryId) =>
    Effect.map(opened(binding, after), (file) => {
      const at = file.lines.findIndex((line, index) =>
        index >= after.offset && line.kind === "user" && deliveryIdOfFirstLine(line.text) === deliveryId
      )
      const line = file.lines[at]
      if (line?.kind !== "user") return Option.none()
      sync(file)
      return Option.some(
        new Receipt({ entry: String(at), form: "entry", turnId: line.turnId, position: positionAt(file, at + 1) })
      )
    })

  const endOf = (binding: Binding, after: HistoryPosition, turnId: TurnId) =>
    Effect.map(opened(binding, after), (file) => {
      const end = file.lines.slice(after.offset).find((line) => line.kind === "end" && line.turnId === turnId)
      if (end?.kind !== "end") return Option.none()
      sync(file)
      return Option.some(end.status)
    })

  const codex: NativeHistory = {
    guard,
    findReceipt,
    // A failed turn has its regular end as well.
    turnEnd: (binding, after, turnId) =>
      Effect.map(
        endOf(binding, after, turnId),
        Option.map((status) => status === "aborted" ? "aborted" : "completed")
      ),
    finished: (binding, receipt, turnId) =>
      turnId === null
        ? Effect.succeed(false)
        : Effect.map(endOf(binding, receipt, turnId), Option.contains<"completed" | "failed" | "aborted">("completed"))
  }

  const pi: NativeHistory = {
    guard,
    findReceipt,
    turnEnd: () => Effect.succeedNone,
    finished: (binding, receipt) =>
      Effect.map(opened(binding, receipt), (file) => {
        const newest = file.lines.slice(receipt.offset).at(-1)
        return newest?.kind === "end" && newest.status === "completed"
      })
  }

  return {
    files,
    of: (kind) => kind === "codex" ? codex : pi,
    losePower: () => {
      for (const file of files.values()) file.lines.length = file.synced
    }
  }
}
