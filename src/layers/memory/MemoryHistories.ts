// Native histories in memory: lines per file, synced or not, which outlive every process. Power loss takes unsynced lines.
import { Effect, Option } from "effect"
import { deliveryIdOfFirstLine } from "../../domain/DeliveryHeader.ts"
import {
  type Binding,
  type HistoryBroken,
  HistoryForeign,
  HistoryMissing,
  HistoryPosition,
  HistoryShorter,
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
  readonly history: NativeHistory
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

  const opened = (binding: Binding, known: HistoryPosition | null): Effect.Effect<HistoryFile, HistoryBroken> =>
    Effect.suspend((): Effect.Effect<HistoryFile, HistoryBroken> => {
      const file = files.get(binding.path)
      if (file === undefined) return Effect.fail(new HistoryMissing({ path: binding.path }))
      const [header] = file.lines
      if (header?.kind !== "header" || header.nativeId !== binding.nativeId) {
        return Effect.fail(
          new HistoryForeign({ path: binding.path, expected: binding.nativeId, found: describe(header) })
        )
      }
      if (known !== null) {
        if (file.lines.length < known.offset) {
          return Effect.fail(
            new HistoryShorter({ path: binding.path, expectedBytes: known.offset, foundBytes: file.lines.length })
          )
        }
        const found = describe(file.lines[known.lineOffset])
        if (found !== known.lineHash) {
          return Effect.fail(new HistoryForeign({ path: binding.path, expected: known.lineHash, found }))
        }
      }
      file.synced = file.lines.length
      return Effect.succeed(file)
    })

  const history: NativeHistory = {
    guard: (binding, known) => Effect.map(opened(binding, known), (file) => positionAt(file, file.lines.length)),
    findReceipt: (binding, after, deliveryId) =>
      Effect.map(opened(binding, null), (file) => {
        const at = file.lines.findIndex((line, index) =>
          index >= after.offset && line.kind === "user" && deliveryIdOfFirstLine(line.text) === deliveryId
        )
        const line = file.lines[at]
        if (line?.kind !== "user") return Option.none()
        return Option.some(
          new Receipt({ entry: String(at), form: "entry", turnId: line.turnId, position: positionAt(file, at + 1) })
        )
      }),
    turnEnd: (binding, after, turnId) =>
      Effect.map(opened(binding, null), (file) => {
        const end = file.lines.slice(after.offset).find((line) => line.kind === "end" && line.turnId === turnId)
        return end?.kind === "end" ? Option.some(end.status === "completed" ? "completed" : "aborted") : Option.none()
      }),
    finished: (binding, receipt, turnId) =>
      Effect.map(
        opened(binding, null),
        (file) =>
          file.lines.slice(receipt.offset).some((line) =>
            line.kind === "end" && line.status === "completed" && (turnId === null || line.turnId === turnId)
          )
      )
  }

  return {
    files,
    history,
    losePower: () => {
      for (const file of files.values()) file.lines.length = file.synced
    }
  }
}
