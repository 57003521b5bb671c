import { Effect, Layer } from "effect"
import * as SynapseMatrix from "../../../src/layers/matrix/SynapseMatrix.ts"
import * as TestSynapse from "../homeserver/TestSynapse.ts"
import { contract, Homeserver } from "./contract.ts"

contract(
  "a real homeserver",
  Layer.scoped(
    Homeserver,
    Effect.gen(function*() {
      const { people, prepared } = yield* TestSynapse.make
      return { people, matrix: yield* SynapseMatrix.make(prepared.access) }
    })
  )
)
