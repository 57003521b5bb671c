// What artifacts need of a disk: the real one, and a twin in memory. It knows paths and bytes, no agent and no input.
import { Effect, Option } from "effect"
import { readdir, readFile, rm, rmdir } from "node:fs/promises"
import { dirname, join } from "node:path"
import { attempt, type FileFailed, syncFolderNow } from "../files/FileCall.ts"
import * as PrivateFile from "../files/PrivateFile.ts"
import { systemCode } from "../files/SystemCode.ts"

export interface ArtifactDisk {
  /** Whole, private and durable, or absent; its folder is made where it is missing. */
  readonly write: (path: string, contents: Uint8Array) => Effect.Effect<void, FileFailed>
  /** None: it is not there. */
  readonly read: (path: string) => Effect.Effect<Option.Option<string>, FileFailed>
  /** One that is not there is removed already. */
  readonly remove: (path: string) => Effect.Effect<void, FileFailed>
  /** An empty folder goes; one that holds something, or is not there, is left as it is. */
  readonly removeFolder: (path: string) => Effect.Effect<void, FileFailed>
  /** Makes the folder, and removes from it what never became whole. */
  readonly begin: (folder: string) => Effect.Effect<void, FileFailed>
}

const leftAlone = new Set(["ENOENT", "ENOTEMPTY", "EEXIST"])

export const real: ArtifactDisk = {
  write: (path, contents) => Effect.zipRight(PrivateFile.folder(dirname(path)), PrivateFile.write(path, contents)),
  read: (path) =>
    attempt(path, async () => {
      try {
        return Option.some(await readFile(path, "utf8"))
      } catch (cause) {
        if (systemCode(cause) === "ENOENT") return Option.none()
        throw cause
      }
    }),
  remove: (path) => attempt(path, () => rm(path, { force: true })),
  removeFolder: (path) =>
    attempt(path, async () => {
      try {
        await rmdir(path)
      } catch (cause) {
        if (leftAlone.has(systemCode(cause) ?? "")) return
        throw cause
      }
      // Before the rows go: what a power cut brings back would be in no row.
      await syncFolderNow(dirname(path))
    }),
  begin: (folder) =>
    Effect.zipRight(
      PrivateFile.folder(folder),
      attempt(folder, async () => {
        for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
          const isTemporary = entry.isFile() && PrivateFile.isTemporary(entry.name)
          if (isTemporary) await rm(join(entry.parentPath, entry.name), { force: true })
        }
      })
    )
}

/** Whole or absent by nature. `files` is what stands on the simulated disk, by path. */
export const memory = (files: Map<string, string>): ArtifactDisk => ({
  write: (path, contents) => Effect.sync(() => files.set(path, Buffer.from(contents).toString("utf8"))),
  read: (path) => Effect.sync(() => Option.fromNullable(files.get(path))),
  remove: (path) => Effect.sync(() => files.delete(path)),
  removeFolder: () => Effect.void,
  begin: () => Effect.void
})
