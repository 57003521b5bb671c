// Bearer credentials looked up by their hash in crossfire's file.
import * as SqlSchema from "@effect/sql/SqlSchema"
import { Effect, Layer, Option, Redacted, Schema } from "effect"
import { TooManyAttempts, Unauthorized } from "../../../domain/api/CrossfireErrors.ts"
import { isAgentToken, isFleetToken } from "../../../domain/Credential.ts"
import { AgentId, FleetId, UserId } from "../../../domain/Ids.ts"
import { Credentials } from "../../../services/Credentials.ts"
import { CrossfireDb, type StoreFailed } from "../../../services/Database.ts"
import { hashOf } from "../../crypto/Secret.ts"
import * as AttemptWindow from "./AttemptWindow.ts"

/** Refused credentials of one address within the window that are answered by 401; further ones by 429. */
const maxRefusals = 30
const refusalsWindowMillis = 60_000
const maxPeersCounted = 10_000

export const make = Effect.gen(function*() {
  const { read, sql } = yield* CrossfireDb
  const refusals = AttemptWindow.make({ maxKeys: maxPeersCounted, windowMillis: refusalsWindowMillis })

  // An index lookup takes longer the more of the hash fits, and tells nothing by it: which hash is looked up cannot be
  // steered without knowing the token, so no stored one can be felt out piece by piece.
  const findFleet = SqlSchema.findOne({
    Request: Schema.String,
    Result: Schema.Struct({ fleetId: FleetId, owner: UserId }),
    execute: (hash) => sql`SELECT fleet_id AS fleetId, owner FROM fleet WHERE token_hash = ${hash}`
  })
  const findAgent = SqlSchema.findOne({
    Request: Schema.String,
    Result: Schema.Struct({ agentId: AgentId, fleetId: FleetId, owner: UserId, userId: UserId }),
    execute: (hash) =>
      sql`SELECT agent_id AS agentId, fleet_id AS fleetId, owner, user_id AS userId FROM agent
          WHERE token_hash = ${hash} AND retired_at IS NULL`
  })

  const admitted = <A>(found: Effect.Effect<Option.Option<A>, StoreFailed>, peer: string) =>
    Effect.flatMap(
      found,
      Option.match({
        onSome: Effect.succeed,
        onNone: () =>
          Effect.flatMap(refusals.add(peer), ({ count, endsInMillis }) =>
            Effect.fail(
              count > maxRefusals ? new TooManyAttempts({ retryAfterMillis: endsInMillis }) : new Unauthorized()
            ))
      })
    )

  return Credentials.of({
    fleet: (token, peer) =>
      admitted(isFleetToken(Redacted.value(token)) ? read(findFleet(hashOf(token))) : Effect.succeedNone, peer),
    agent: (token, peer) =>
      admitted(isAgentToken(Redacted.value(token)) ? read(findAgent(hashOf(token))) : Effect.succeedNone, peer)
  })
})

export const layer: Layer.Layer<Credentials, never, CrossfireDb> = Layer.effect(Credentials, make)
