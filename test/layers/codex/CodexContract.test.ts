import { Effect } from "effect"
import { join } from "node:path"
import { contract } from "../engine/contract.ts"
import { worldOf } from "../engine/RealEngine.ts"
import { setUp } from "./CodexFixture.ts"

contract(
  "the real Codex",
  Effect.map(
    setUp(),
    (test) =>
      worldOf(test, {
        sessionFolder: join(test.activation.home, "codex/sessions"),
        failure: "httpConnectionFailed (HTTP 401)",
        tellsTurnEnds: true
      })
  )
)
