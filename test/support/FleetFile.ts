// A migrated registry of fleetd in a folder of its own, opened and closed as often as a test wants, and a small fleet.
import { Effect, Layer, Redacted } from "effect"
import { mkdtempSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fleetdMigrations } from "../../migrations/fleetd/all.ts"
import { AgentId, FleetId, UserId } from "../../src/domain/Ids.ts"
import { FleetKey, InstanceKey, RegisteredName } from "../../src/domain/Roster.ts"
import { migrate } from "../../src/layers/sqlite/Migrations.ts"
import { open } from "../../src/layers/sqlite/SqliteDatabase.ts"
import { FleetDb } from "../../src/services/Database.ts"
import type { NewFleet } from "../../src/services/FleetRegistry.ts"

/** An own folder (0700), gone with the scope. */
export const scratchFolder = Effect.acquireRelease(
  Effect.sync(() => realpathSync(mkdtempSync(join(tmpdir(), "fleetd-test-")))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

export const registryIn = (folder: string) =>
  Layer.scoped(
    FleetDb,
    migrate("fleetd", join(folder, "fleetd.sqlite"), fleetdMigrations).pipe(Effect.flatMap(open))
  )

export const editor = AgentId.make("11111111-1111-4111-8111-111111111111")
export const reporter = AgentId.make("22222222-2222-4222-8222-222222222222")

/** Two agents; the tokens are their names with a prefix. */
export const smallFleet = (serverUrl = "http://127.0.0.1:1"): NewFleet => ({
  identity: {
    fleetId: FleetId.make("33333333-3333-4333-8333-333333333333"),
    fleetKey: FleetKey.make("street"),
    owner: UserId.make("@alice:test"),
    serverUrl
  },
  token: Redacted.make("token-of-fleet"),
  agents: ([["editor", editor], ["reporter", reporter]] as const).map(([name, agentId]) => ({
    agent: {
      agentId,
      key: InstanceKey.make(name),
      name: RegisteredName.make(name),
      userId: UserId.make(`@street-${name}:test`),
      engine: "pi" as const,
      model: "scripted-1",
      effort: null,
      workFolder: "/tmp",
      historyMode: "shared" as const,
      instructions: null
    },
    token: Redacted.make(`token-of-${name}`)
  }))
})
