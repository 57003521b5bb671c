// A call to the file system as an effect, its failure typed; and what makes a folder's entries durable.
import { Effect, Schema } from "effect"
import { open } from "node:fs/promises"
import { systemCode } from "./SystemCode.ts"

const told: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EACCES: "no permission",
  EROFS: "the file system is read-only",
  EIO: "the disk reported an input/output error"
}

export class FileFailed extends Schema.TaggedError<FileFailed>()("FileFailed", {
  path: Schema.String,
  /** The system's code, `?` where it gave none. */
  code: Schema.String
}) {
  /** Without the path. */
  get reason(): string {
    return told[this.code] ?? `the system says ${this.code}`
  }
  override get message(): string {
    return `${this.path}: ${this.reason}`
  }
}

/** Interruptible: the call goes on all the same, and what it did is not looked at. */
export const attempt = <A>(path: string, call: () => Promise<A>): Effect.Effect<A, FileFailed> =>
  Effect.tryPromise({ try: call, catch: (cause) => new FileFailed({ path, code: systemCode(cause) ?? "?" }) })

/** For use inside of one call. */
export const syncFolderNow = async (path: string): Promise<void> => {
  const folder = await open(path, "r")
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Makes a folder's entries durable. */
export const syncFolder = (path: string): Effect.Effect<void, FileFailed> => attempt(path, () => syncFolderNow(path))
