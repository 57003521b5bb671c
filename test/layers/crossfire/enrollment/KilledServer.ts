// A crossfire that enrolls one fleet and stops at the point named, to be killed there: prints `reached` when it stands.
import { Effect } from "effect"
import { ClaimSecret } from "../../../../src/domain/api/Crossfire.ts"
import { asAlice, hashes, start } from "./EnrollmentFixture.ts"
import { killedRoster, killedTokens, killPoints } from "./KillPoints.ts"

const [, , folder = "", claim = "", point = ""] = process.argv

const stand = Effect.zipRight(Effect.sync(() => process.stdout.write("reached\n")), Effect.never)
const at = (here: typeof killPoints[number]) => point === here ? stand : Effect.void

const program = Effect.gen(function*() {
  const { enrollment } = yield* start(folder, {
    onAgent: at("inside the introduction"),
    onUser: at("after its commit")
  })
  const secret = ClaimSecret.make(claim)
  const { code, enrollmentId } = yield* enrollment.submit(secret, killedRoster)
  yield* at("after the submission")
  yield* enrollment.approve(asAlice, enrollmentId, String(code))
  yield* at("after the approval")
  yield* enrollment.introduce(hashes(secret, killedTokens))
})

await Effect.runPromise(Effect.scoped(program))
