// A crossfire's client of which a test writes only what it needs; everything else is a broken test.
import { Effect, Layer, Stream } from "effect"
import { CrossfireClient } from "../../src/services/CrossfireClient.ts"

const unasked = () => Effect.dieMessage("nobody asks for this here")

export const layer = (parts: Partial<CrossfireClient["Type"]>): Layer.Layer<CrossfireClient> =>
  Layer.succeed(
    CrossfireClient,
    CrossfireClient.of({
      acquireLease: unasked,
      renewLease: unasked,
      releaseLease: () => Effect.void,
      levels: () => Stream.never,
      boundary: unasked,
      page: unasked,
      acknowledge: unasked,
      send: unasked,
      rotateCredentials: unasked,
      notice: unasked,
      ...parts
    })
  )
