// Bearer credentials looked up by their hash in crossfire's file.
import * as SqlSchema from "@effect/sql/SqlSchema"
import { Effect, Layer, Redacted, Schema } from "effect"
import { isAgentToken, isFleetToken } from "../../../domain/Credential.ts"
import { AgentId, FleetId, UserId } from "../../../domain/Ids.ts"
import { Credentials } from "../../../services/Credentials.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import { hashOf } from "../../crypto/Secret.ts"
import * as RefusedCredentials from "../RefusedCredentials.ts"

export const make = Effect.gen(function*() {
  const { read, sql } = yield* CrossfireDb
  const { admitted } = yield* RefusedCredentials.RefusedCredentials

  // An index lookup takes longer the more of the hash fits, and tells nothing by it: which hash is looked up cannot be
  // steered without knowing the token, so no stored one can be felt out piece by piece.
  const findFleet = SqlSchema.findOne({
    Request: Schema.String,
    Result: Schema.Struct({ fleetId: FleetId, owner: UserId }),
    execute: (hash) =>
      sql`SELECT fleet_id AS fleetId, owner FROM fleet WHERE token_hash = ${hash} AND revoked_at IS NULL`
  })
  const findAgent = SqlSchema.findOne({
    Request: Schema.String,
    Result: Schema.Struct({ agentId: AgentId, fleetId: FleetId, owner: UserId, userId: UserId }),
    execute: (hash) =>
      sql`SELECT agent_id AS agentId, fleet_id AS fleetId, owner, user_id AS userId FROM agent
          WHERE token_hash = ${hash} AND retired_at IS NULL`
  })

  return Credentials.of({
    fleet: (token, peer) =>
      admitted(isFleetToken(Redacted.value(token)) ? read(findFleet(hashOf(token))) : Effect.succeedNone, peer),
    agent: (token, peer) =>
      admitted(isAgentToken(Redacted.value(token)) ? read(findAgent(hashOf(token))) : Effect.succeedNone, peer)
  })
})

export const layer: Layer.Layer<Credentials, never, CrossfireDb> = Layer.effect(Credentials, make).pipe(
  Layer.provide(RefusedCredentials.layer)
)
