// `Enrollment` over crossfire's file: requests filed by claim, decided in a chat or on a page, introduced whole.
import { Effect, Layer } from "effect"
import { type Capacity, usualCapacity } from "../../../domain/RosterCheck.ts"
import type { AgentAccounts } from "../../../services/AgentAccounts.ts"
import type { Changes } from "../../../services/Changes.ts"
import { CrossfireDb } from "../../../services/Database.ts"
import { Enrollment } from "../../../services/Enrollment.ts"
import { LevelChanges } from "../../../services/LevelChanges.ts"
import { Matrix } from "../../../services/Matrix.ts"
import type { Revocations } from "../../../services/Revocations.ts"
import { WakePolicies } from "../../../services/WakePolicies.ts"
import { WebAddress } from "../../../services/WebAddress.ts"
import * as ChatVerdicts from "./ChatVerdicts.ts"
import * as FiledRequests from "./FiledRequests.ts"
import * as Introductions from "./Introductions.ts"
import * as PageVerdicts from "./PageVerdicts.ts"
import * as RosterTaking from "./RosterTaking.ts"

export const make = (capacity: Capacity) =>
  Effect.gen(function*() {
    const database = yield* CrossfireDb
    const taking = RosterTaking.make({
      database,
      wakePolicies: yield* WakePolicies,
      levels: yield* LevelChanges,
      serverName: (yield* Matrix).serverName,
      webOrigin: (yield* WebAddress).origin,
      capacity
    })
    const filed = yield* FiledRequests.make(taking)
    const { introduce } = yield* Introductions.make(taking, filed)
    return Enrollment.of({
      preflight: (roster) => database.read(taking.check(roster)),
      submit: filed.submit,
      state: filed.state,
      introduce,
      ...(yield* ChatVerdicts.make),
      ...(yield* PageVerdicts.make)
    })
  })

export const layer = (
  capacity: Capacity = usualCapacity
): Layer.Layer<
  Enrollment,
  never,
  CrossfireDb | Matrix | WakePolicies | LevelChanges | AgentAccounts | Changes | Revocations | WebAddress
> => Layer.effect(Enrollment, make(capacity))
