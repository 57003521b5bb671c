import { Effect } from "effect"
import { join } from "node:path"
import { contract } from "../engine/contract.ts"
import { worldOf } from "../engine/RealEngine.ts"
import { setUp } from "./PiFixture.ts"

contract(
  "the real Pi",
  Effect.map(
    setUp(),
    (test) =>
      worldOf(test, {
        sessionFolder: join(test.activation.home, "pi/sessions"),
        failure: "the provider failed (HTTP 401)",
        tellsTurnEnds: false
      })
  )
)
