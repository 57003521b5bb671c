// `fleet roster check`: whether a roster could be enrolled. It works in a folder of its own that is gone afterwards: it takes
// no lock, needs no root and keeps nothing.
import { Effect } from "effect"
import { mkdtemp, rm } from "node:fs/promises"
import { homedir, tmpdir } from "node:os"
import { join } from "node:path"
import * as FleetSettings from "../../layers/fleetd/FleetSettings.ts"
import * as HostEngines from "../../layers/fleetd/HostEngines.ts"
import * as RosterPreflight from "../../layers/fleetd/RosterPreflight.ts"
import type { Answer } from "../CommandLine.ts"
import { settingsDefaults } from "../SettingsDefaults.ts"

/** Only this user can open it. */
const ownFolder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "fleet-roster-"))),
  (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true }))
)

export const check = (options: {
  /** Its settings hold here too, where there are any. */
  readonly root: string
  readonly rosterPath: string
  readonly serverUrl: string | null
}): Effect.Effect<Answer, { readonly _tag: string; readonly message: string }> =>
  Effect.gen(function*() {
    const { root, rosterPath, serverUrl } = options
    const settings = yield* FleetSettings.read(root, settingsDefaults)
    const folder = yield* ownFolder
    const roster = yield* RosterPreflight.check({ rosterPath, home: homedir(), serverUrl, modelsHome: () => folder })
      .pipe(Effect.provide(HostEngines.layer(settings)))
    const agents = roster.agents.map(({ effort, engine, key, model, name }) => ({ key, name, engine, model, effort }))
    const at = serverUrl === null
      ? "Names and capacity were not asked for: add --server URL"
      : `${serverUrl} would take it now; nothing is reserved`
    return {
      json: { ok: true, fleet: roster.fleet, owner: roster.owner, agents, server: serverUrl },
      text: [
        `The roster is in order: the fleet ${roster.fleet} of ${roster.owner}`,
        ...agents.map(({ effort, engine, model, name }) =>
          `  ${name}: ${engine}, ${model}${effort === null ? "" : `, effort ${effort}`}`
        ),
        at
      ].join("\n")
    }
  }).pipe(Effect.scoped)
