// The SQLite binding of earlier major versions aborts newer Node processes when a prepared statement is collected. One
// version, overridden for the whole tree, does not: this runs the recipe.
import { expect, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../..", import.meta.url))

const recipe = `
  const Sqlite = require("better-sqlite3")
  const rounds = 20, statements = 200
  for (let round = 0; round < rounds; round++) {
    const database = new Sqlite(":memory:")
    database.exec("CREATE TABLE note (id INTEGER)")
    for (let count = 0; count < statements; count++) database.prepare("INSERT INTO note VALUES (" + count + ")").run()
    globalThis.gc()
    if (database.prepare("SELECT COUNT(*) AS total FROM note").get().total !== statements) process.exit(3)
    database.close()
    globalThis.gc()
  }
`

/** Every copy of the package that is installed, wherever npm put it. */
const copies = (folder: string): ReadonlyArray<string> => {
  const modules = join(folder, "node_modules")
  if (!existsSync(modules)) return []
  return readdirSync(modules).flatMap((name) => {
    const inner = name.startsWith("@")
      ? readdirSync(join(modules, name)).map((scoped) => join(modules, name, scoped))
      : [join(modules, name)]
    return inner.flatMap((path) => [...(path.endsWith("node_modules/better-sqlite3") ? [path] : []), ...copies(path)])
  })
}

it("prepared statements can be collected without ending the process", () => {
  const run = spawnSync(process.execPath, ["--expose-gc", "-e", recipe], { cwd: root, encoding: "utf8" })
  expect({ status: run.status, signal: run.signal, stderr: run.stderr }).toStrictEqual({
    status: 0,
    signal: null,
    stderr: ""
  })
})

it("one copy of the binding is installed, at the overridden version", () => {
  const versions = copies(root).map((path) =>
    /"version": "(\d+)\./u.exec(readFileSync(join(path, "package.json"), "utf8"))?.[1]
  )
  expect(versions).toStrictEqual(["13"])
})
