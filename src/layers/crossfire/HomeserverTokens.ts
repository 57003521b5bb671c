// The two tokens between crossfire and a homeserver of your own, made once and kept in a private file beside the settings.
import { Effect, Redacted, Schema } from "effect"
import { randomBytes } from "node:crypto"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { FolderUnusable, privateFile } from "../homeserver/Registration.ts"

const Tokens = Schema.Struct({
  asToken: Schema.Redacted(Schema.NonEmptyString),
  hsToken: Schema.Redacted(Schema.NonEmptyString)
})
export type HomeserverTokens = typeof Tokens.Type

const TokensFile = Schema.parseJson(Tokens, { space: 2 })
const decodeTokens = Schema.decode(TokensFile)
const encodeTokens = Schema.encodeSync(TokensFile)

const pathOf = (data: string): string => join(data, "homeserver-tokens.json")

const secret = () => Redacted.make(randomBytes(32).toString("base64url"))

export const read = (data: string): Effect.Effect<HomeserverTokens, FolderUnusable> => {
  const path = pathOf(data)
  const unusable = (reason: string) => new FolderUnusable({ path, reason })
  return Effect.tryPromise({
    try: () => readFile(path, "utf8"),
    catch: () => unusable("it cannot be read; `crossfire init` makes it")
  }).pipe(
    Effect.flatMap((text) => Effect.mapError(decodeTokens(text), () => unusable("its content is not as written")))
  )
}

/** New ones; whoever has them before loses their use. */
export const make = (data: string): Effect.Effect<HomeserverTokens, FolderUnusable> =>
  Effect.gen(function*() {
    const tokens: HomeserverTokens = { asToken: secret(), hsToken: secret() }
    yield* privateFile(pathOf(data), encodeTokens(tokens))
    return tokens
  })
