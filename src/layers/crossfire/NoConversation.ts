// `BotConversation` that says nothing: for tests, and for a crossfire without enrollment.
import { Effect, Layer } from "effect"
import { BotConversation } from "../../services/BotConversation.ts"

export const layer = Layer.succeed(BotConversation, { handle: () => Effect.void })
