// `Instance` from crossfire's database, written at the first start. A database of another homeserver is refused.
import { Clock, Effect, Layer, Schema } from "effect"
import { randomUUID } from "node:crypto"
import { Incarnation } from "../../../domain/Ids.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import { Instance } from "../../../services/Instance.ts"
import { Matrix } from "../../../services/Matrix.ts"

export class OtherHomeserver extends Schema.TaggedError<OtherHomeserver>()("OtherHomeserver", {
  expected: Schema.String,
  found: Schema.String
}) {
  override get message(): string {
    return `This data folder belongs to the homeserver ${this.expected}, and the configuration names ${this.found}`
  }
}

const decodeRows = Schema.decodeUnknown(Schema.Array(Schema.Struct({
  instance_id: Schema.String,
  incarnation: Incarnation,
  server_name: Schema.String
})))

export const make = (serverName: string) =>
  Effect.gen(function*() {
    const { sql, transaction } = yield* CrossfireDb
    const row = yield* transaction(Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      yield* sql`INSERT INTO instance ${
        sql.insert({
          only_row: 1,
          instance_id: randomUUID(),
          incarnation: randomUUID(),
          server_name: serverName,
          created_at: now
        })
      } ON CONFLICT DO NOTHING`
      const [found] = yield* decodeRows(yield* sql`SELECT instance_id, incarnation, server_name FROM instance`)
      return found === undefined ? yield* Effect.dieMessage("the instance row is missing") : found
    }))
    if (row.server_name !== serverName) {
      return yield* new OtherHomeserver({ expected: row.server_name, found: serverName })
    }
    return Instance.of({ instanceId: row.instance_id, incarnation: row.incarnation, serverName })
  })

export const layer = Layer.effect(Instance, Effect.flatMap(Matrix, ({ serverName }) => make(serverName)))

/** For commands that speak with no homeserver. */
export const layerFor = (serverName: string) => Layer.effect(Instance, make(serverName))
