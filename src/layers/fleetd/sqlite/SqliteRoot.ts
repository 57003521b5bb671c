// The root folder's own row: its random ID at crossfire and the path where its histories were made (a binding names
// absolute paths). Written once, at the first start in an empty root.
import * as SqlSchema from "@effect/sql/SqlSchema"
import { Clock, Effect, Option, Schema } from "effect"
import { FleetDb, type StoreFailed } from "../../../services/Database.ts"
import { nextUuid } from "../Uuids.ts"

/** The registry was copied or moved: its histories stand elsewhere, and nothing fresh is made in their place. */
export class RootMoved extends Schema.TaggedError<RootMoved>()("RootMoved", {
  root: Schema.String,
  madeIn: Schema.String
}) {
  override get message(): string {
    return `The registry in ${this.root} was made in ${this.madeIn}: its histories live at ${this.madeIn}. ` +
      `Start fleetd there, or move the whole folder back to that path`
  }
}

const Root = Schema.Struct({ rootId: Schema.UUID, path: Schema.String })
export type Root = typeof Root.Type

/** The root's row, made when the file is new. `path` is the folder's real path. */
export const claimRoot = (path: string): Effect.Effect<Root, RootMoved | StoreFailed, FleetDb> =>
  Effect.gen(function*() {
    const { sql, transaction } = yield* FleetDb
    const find = SqlSchema.findOne({
      Request: Schema.Void,
      Result: Root,
      execute: () => sql`SELECT root_id AS rootId, path FROM root`
    })
    return yield* transaction(Effect.gen(function*() {
      const found = yield* find()
      if (Option.isSome(found)) {
        return found.value.path === path ? found.value : yield* new RootMoved({ root: path, madeIn: found.value.path })
      }
      const rootId = yield* nextUuid
      const now = yield* Clock.currentTimeMillis
      yield* sql`INSERT INTO root (only_row, root_id, path, created_at) VALUES (1, ${rootId}, ${path}, ${now})`
      return { rootId, path }
    }))
  })
