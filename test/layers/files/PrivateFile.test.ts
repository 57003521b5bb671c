// Private files: whole or absent, closed to others, and nothing left beside them.
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { dirname, join } from "node:path"
import * as PrivateFile from "../../../src/layers/files/PrivateFile.ts"
import { temporaryFolder } from "../../support/EngineSession.ts"

const mode = (path: string) => statSync(path).mode & 0o777

it.scopedLive("[C-01] a file and the folders made for it are closed to others, whatever the umask; others stay as they were", () =>
  Effect.gen(function*() {
    const top = yield* temporaryFolder
    chmodSync(top, 0o755)
    const path = join(top, "a", "b", "file")
    const umask = process.umask(0)
    yield* PrivateFile.folder(dirname(path))
    yield* PrivateFile.write(path, "one")
    process.umask(umask)
    expect([top, join(top, "a"), dirname(path), path].map(mode)).toEqual([0o755, 0o700, 0o700, 0o600])
    chmodSync(dirname(path), 0o755)
    yield* PrivateFile.folder(dirname(path))
    expect(mode(dirname(path))).toBe(0o755)
    yield* PrivateFile.privateFolder(dirname(path))
    expect(mode(dirname(path))).toBe(0o700)
  }))

it.scopedLive("a file is replaced by another one, made only once, touched only by a change, and leaves nothing beside it", () =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const path = join(folder, "file")
    yield* PrivateFile.writeFirst(path, "one")
    yield* PrivateFile.writeFirst(path, "two")
    expect(readFileSync(path, "utf8")).toBe("one")
    const first = statSync(path).ino
    yield* PrivateFile.writeChanged(path, "one")
    expect(statSync(path).ino).toBe(first)
    yield* PrivateFile.writeChanged(path, "three")
    expect(readFileSync(path, "utf8")).toBe("three")
    expect(statSync(path).ino).not.toBe(first)
    yield* PrivateFile.writeLink(path, "/elsewhere")
    expect(readlinkSync(path)).toBe("/elsewhere")
    yield* PrivateFile.write(path, Buffer.from("four"))
    expect(lstatSync(path).isFile()).toBe(true)
    expect([readdirSync(folder), mode(path)]).toEqual([["file"], 0o600])
  }))

it.scopedLive("of many writers at once one whole text stays", () =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const path = join(folder, "file")
    const texts = Array.from({ length: 8 }, (_, at) => `${at}`.repeat(100_000))
    yield* Effect.forEach(texts, (text) => PrivateFile.write(path, text), { concurrency: "unbounded" })
    expect(texts).toContain(readFileSync(path, "utf8"))
    expect(readdirSync(folder)).toEqual(["file"])
  }))

it.scopedLive("[O-02] what cannot be written is named by path and reason, and nothing of it stays", () =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const path = join(folder, "taken")
    mkdirSync(join(path, "by a folder"), { recursive: true })
    for (const write of [PrivateFile.write(path, "secret"), PrivateFile.writeLink(path, "secret")]) {
      const failed = yield* Effect.flip(write)
      expect(failed.message).toBe(`${path}: the system says EISDIR`)
    }
    expect(readdirSync(folder)).toEqual(["taken"])
    const absent = yield* Effect.flip(PrivateFile.write(join(folder, "none", "file"), "secret"))
    expect(absent).toMatchObject({ code: "ENOENT", reason: "the system says ENOENT" })
  }))

it.scopedLive("only old leftovers of the same file are cleared", () =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const names = [".file.1.tmp", ".file.2.tmp", ".other.1.tmp", "file.tmp", ".file"]
    for (const name of names) {
      expect(PrivateFile.isTemporary(name)).toBe(name.startsWith(".") && name !== ".file")
      writeFileSync(join(folder, name), "half")
      if (name !== ".file.2.tmp") utimesSync(join(folder, name), 0, 0)
    }
    yield* PrivateFile.removeLeftovers(join(folder, "file"))
    expect(readdirSync(folder).toSorted()).toEqual(names.slice(1).toSorted())
    yield* PrivateFile.removeLeftovers(join(folder, "nowhere", "file"))
  }))
