// A fleet beside the stage's own: its root with the scripted model, its roster, its enrollment, and what crossfire holds
// of all fleets.
import Sqlite from "better-sqlite3"
import { Effect } from "effect"
import { cpSync, existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { EngineKind } from "../../src/domain/Engine.ts"
import { scriptedModelId, scriptedProviderId } from "../../src/layers/model/ModelCatalog.ts"
import { databasePath } from "../../src/programs/crossfire/Installation.ts"
import { fleet, type RunningStage } from "./SharedStage.ts"

export const scriptedModels: Readonly<Record<EngineKind, string>> = {
  codex: scriptedModelId,
  pi: `${scriptedProviderId}/${scriptedModelId}`
}

/** One `[[agent]]` section; `more` replaces or adds fields, each written as TOML. */
export const section = (
  workFolder: string,
  name: string,
  engine: EngineKind,
  more: Readonly<Record<string, string>> = {}
): string =>
  [
    "",
    "[[agent]]",
    ...Object.entries({
      key: `"key-of-${name}"`,
      name: `"${name}"`,
      engine: `"${engine}"`,
      model: `"${scriptedModels[engine]}"`,
      work_folder: `"${workFolder}"`,
      ...more
    }).map(([field, value]) => `${field} = ${value}`),
    ""
  ].join("\n")

export const rosterHead = (fleetKey: string, owner: string): string => `fleet = "${fleetKey}"\nowner = "${owner}"\n`

/** An own root, made by `fleet init`; `enroll` files what stands in its roster and does not wait for the owner. */
export const make = (stage: RunningStage, name: string) =>
  Effect.gen(function*() {
    const folder = join(stage.folder, name)
    const workFolder = join(folder, "work")
    mkdirSync(workFolder, { recursive: true })
    const root = join(folder, "root")
    const made = yield* fleet("init", "--root", root)
    if (made.code !== 0) return yield* Effect.dieMessage(made.stderr)
    cpSync(join(stage.root, "fleet.toml"), join(root, "fleet.toml"))
    const roster = join(folder, "roster.toml")
    return {
      root,
      roster,
      workFolder,
      write: (text: string) => writeFileSync(roster, text),
      enroll: (...more: ReadonlyArray<string>) =>
        fleet("enroll", roster, "--server", stage.address, "--root", root, "--no-wait", ...more),
      hasClaim: () => existsSync(join(root, "claim.json"))
    }
  })

export interface Known {
  readonly fleets: ReadonlyArray<string>
  readonly agents: ReadonlyArray<string>
  readonly enrollments: ReadonlyArray<string>
}

/** What crossfire's database holds; its writer goes on meanwhile. */
export const knownTo = (stage: RunningStage): Known => {
  const database = new Sqlite(databasePath(stage.dataFolder), { readonly: true, timeout: 5_000 })
  try {
    const column = (query: string) => database.prepare<[], string>(query).pluck().all()
    return {
      fleets: column("SELECT fleet_key FROM fleet ORDER BY fleet_key"),
      agents: column("SELECT name FROM agent ORDER BY name"),
      enrollments: column("SELECT fleet_key || ' ' || state FROM enrollment ORDER BY fleet_key")
    }
  } finally {
    database.close()
  }
}
