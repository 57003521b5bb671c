// Which crossfire this is: the identity of its database and of this life of it.
import { Context } from "effect"
import type { Incarnation } from "../domain/Ids.ts"

export class Instance extends Context.Tag("crossfire/services/Instance")<
  Instance,
  {
    readonly instanceId: string
    /** Another one after a restore: generations and levels given before mean nothing then. */
    readonly incarnation: Incarnation
    readonly serverName: string
  }
>() {}
