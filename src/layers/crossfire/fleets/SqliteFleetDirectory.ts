// `FleetDirectory` over crossfire's file: what people see of fleets and agents, and every change of them in a file of its own.
import { Effect, Layer, Option } from "effect"
import { mayAdminister } from "../../../domain/Actor.ts"
import type { FleetView } from "../../../domain/api/Management.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import { FleetDirectory } from "../../../services/FleetDirectory.ts"
import { FleetLeases } from "../../../services/FleetLeases.ts"
import * as FleetCredentials from "./FleetCredentials.ts"
import * as FleetRows from "./FleetRows.ts"
import * as ManagedAgents from "./ManagedAgents.ts"

const maxAgentsListed = 1_000
const maxFleetsListed = 1_000

export const make = Effect.gen(function*() {
  const database = yield* CrossfireDb
  const leases = yield* FleetLeases
  const credentials = yield* FleetCredentials.make
  const rows = FleetRows.make(database)

  const view = (fleet: FleetRows.FleetRow, agents: ReadonlyArray<FleetRows.AgentRow>) =>
    Effect.map(leases.holder(fleet.fleetId), (controller): FleetView => ({
      fleetId: fleet.fleetId,
      key: fleet.key,
      owner: fleet.owner,
      credential: fleet.revoked ? "revoked" : "valid",
      controller: Option.getOrNull(controller),
      createdAtMillis: fleet.createdAtMillis,
      agents: agents.filter((agent) => agent.fleetId === fleet.fleetId).map(FleetRows.viewOf)
    }))

  const list: typeof FleetDirectory.Service.list = (by) =>
    database.read(Effect.gen(function*() {
      if (by._tag === "Agent") return []
      const owner = by._tag === "Operator" || mayAdminister(by) ? null : by.userId
      const fleets = yield* rows.fleets({ owner, maxRows: maxFleetsListed })
      const agents = yield* rows.agents({ owner, maxRows: maxAgentsListed })
      return yield* Effect.forEach(fleets, (fleet) => view(fleet, agents))
    }))

  const revokeFleetCredentials: typeof FleetDirectory.Service.revokeFleetCredentials = (by, fleetId) =>
    Effect.zipRight(
      credentials.revoke(by, fleetId),
      database.read(Effect.gen(function*() {
        const fleet = yield* rows.fleet(fleetId)
        if (Option.isNone(fleet)) return yield* Effect.dieMessage(`no fleet ${fleetId}`)
        return yield* view(fleet.value, yield* rows.agentsOf(fleetId))
      }))
    )

  return FleetDirectory.of({
    list,
    revokeFleetCredentials,
    rotateCredentials: credentials.rotateCredentials,
    ...(yield* ManagedAgents.make)
  })
})

export const layer = Layer.effect(FleetDirectory, make)
