// Makes a person known to the instance, by the operator's word. An account on the homeserver is another matter.
import { Clock, Effect } from "effect"
import type { UserId } from "../../../domain/Ids.ts"
import { CrossfireDb, type StoreFailed } from "../../../services/Database.ts"
import * as IdentityRows from "./IdentityRows.ts"

/** Somebody known already can become an administrator by it, and never ceases to be one. */
export const add = (
  userId: UserId,
  role: IdentityRows.PersonRole
): Effect.Effect<void, StoreFailed, CrossfireDb> =>
  Effect.gen(function*() {
    const database = yield* CrossfireDb
    const nowMillis = yield* Clock.currentTimeMillis
    yield* database.transaction(IdentityRows.make(database).addPerson(userId, role, nowMillis))
  })
