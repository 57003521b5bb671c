// What a failed call to the homeserver means to whoever asked for something that needs it.
import { Effect } from "effect"
import { HomeserverDown } from "../../domain/api/CrossfireErrors.ts"
import type { MatrixError } from "../../services/Matrix.ts"

const busyRetryMillis = 2_000
const refusedRetryMillis = 60_000

const retryOf = (error: MatrixError): number => {
  switch (error._tag) {
    case "HomeserverBusy":
      return error.retryAfterMillis
    case "MatrixRefused":
      return refusedRetryMillis
    default:
      return busyRetryMillis
  }
}

/** A refusal is the operator's to mend, so it stands in the log; who asked can only try again later. `what` names the call. */
export const homeserverDown = (what: string) => (error: MatrixError) =>
  Effect.logWarning(`The homeserver did not do it: ${what}`).pipe(
    Effect.annotateLogs(
      error._tag === "MatrixRefused" ? { errcode: error.errcode, status: error.status } : { problem: error._tag }
    ),
    Effect.zipRight(Effect.fail(new HomeserverDown({ retryAfterMillis: retryOf(error) })))
  )

/** For every error of the homeserver's port. */
export const homeserverErrors = (what: string) => {
  const down = homeserverDown(what)
  return { HomeserverUnavailable: down, HomeserverBusy: down, MatrixRefused: down }
}
