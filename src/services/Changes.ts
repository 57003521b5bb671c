// Tells open pages that something changed and is to be asked for again. No content passes here, and a lost word is no harm:
// a page asks again when its stream begins anew.
import { Context, type Effect, type Scope, type Stream } from "effect"
import type { ChangeTopic } from "../domain/api/People.ts"
import type { UserId } from "../domain/Ids.ts"

export class Changes extends Context.Tag("crossfire/services/Changes")<
  Changes,
  {
    /** `about` null: for everybody. To be called after the commit; administrators hear of everything. */
    readonly publish: (topic: ChangeTopic, about: UserId | null) => Effect.Effect<void>
    /** From now on, until the scope closes. Bounded: one that reads too slowly hears each topic once. */
    readonly follow: (reader: {
      readonly userId: UserId
      readonly administrator: boolean
    }) => Effect.Effect<Stream.Stream<ChangeTopic>, never, Scope.Scope>
  }
>() {}
