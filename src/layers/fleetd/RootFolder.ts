// The root folder of one fleet: private to this user, named by its real path, with room for the sockets in it. It checks
// and creates the folder alone; what stands in it is others'.
import { Effect, Schema } from "effect"
import { chmod, lstat, mkdir, open as openFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import * as OwnFolder from "../files/OwnFolder.ts"
import { systemCode } from "../files/SystemCode.ts"
import { maxSocketPathBytes } from "../http/ScopedHttpServer.ts"

export class RootUnusable extends Schema.TaggedError<RootUnusable>()("RootUnusable", {
  path: Schema.String,
  problem: Schema.Literal("missing", "broken-link", "not-a-folder", "foreign", "not-private", "too-long", "unreadable")
}) {
  override get message(): string {
    const told = {
      missing: `There is no fleet in ${this.path}. Make one with: fleet init --root ${this.path}`,
      "broken-link": `${this.path} is a link that leads nowhere. Remove it, or choose another place with --root`,
      "not-a-folder": `${this.path} is not a folder. Choose another place with --root`,
      foreign: `${this.path} belongs to another user. Choose a folder of your own with --root`,
      "not-private": `${this.path} can be opened by other users. Close it with: chmod 700 ${this.path}`,
      "too-long": `The path ${this.path} is too long for the sockets in it: at most ${maxRootPathBytes} bytes`,
      unreadable: `${this.path} cannot be read or created`
    }
    return told[this.problem]
  }
}

/** The longest name of a socket below the root: `/run/<12 digits>.sock`. */
const maxRootPathBytes = maxSocketPathBytes - "/run/123456789012.sock".length

export const databasePath = (root: string): string => join(root, "fleetd.sqlite")
export const logPath = (root: string): string => join(root, "fleetd.log")
/** The private folder of an agent's engine. */
export const homePath = (root: string, agentId: string): string => join(root, "homes", agentId)

/** The folder's real path, after the checks. */
const checked = (path: string) =>
  Effect.gen(function*() {
    const fail = (problem: RootUnusable["problem"]) => new RootUnusable({ path, problem })
    const real = yield* Effect.mapError(OwnFolder.checked(path), fail)
    if (Buffer.byteLength(real) > maxRootPathBytes) return yield* fail("too-long")
    return real
  })

/** An existing root. */
export const open = (path: string): Effect.Effect<string, RootUnusable> => checked(resolve(path))

/** The root, created (0700) where nothing stands yet. */
export const create = (path: string): Effect.Effect<string, RootUnusable> => {
  const folder = resolve(path)
  if (Buffer.byteLength(folder) > maxRootPathBytes) {
    return Effect.fail(new RootUnusable({ path: folder, problem: "too-long" }))
  }
  return Effect.tryPromise({
    try: async () => {
      // A link that leads nowhere would make `mkdir` fail with a name that says nothing.
      if (await lstat(folder).then(() => true, () => false)) return
      await mkdir(folder, { recursive: true, mode: 0o700 })
    },
    catch: (cause) =>
      new RootUnusable({ path: folder, problem: systemCode(cause) === "ENOTDIR" ? "not-a-folder" : "unreadable" })
  }).pipe(Effect.zipRight(checked(folder)))
}

/**
 * The files that SQLite would make readable for others, made private beforehand. (Its side files take over the mode. A
 * umask would be inherited by the engines and by whatever the agents write.) Only before the lock is taken: closing a file
 * that this process has locked would drop its locks.
 */
export const closeFiles = (root: string): Effect.Effect<void, RootUnusable> =>
  Effect.tryPromise({
    try: async () => {
      for (const path of [join(root, "fleetd.lock"), databasePath(root)]) {
        const file = await openFile(path, "a", 0o600)
        await file.close()
        await chmod(path, 0o600)
      }
    },
    catch: () => new RootUnusable({ path: root, problem: "unreadable" })
  })
