// Signing in over the core, with people and sessions as they really are; and what a person sees in the chat with the bot.
import { Effect, Layer, Option, Schema } from "effect"
import { LinkSecret } from "../../../../src/domain/Session.ts"
import { foundation, rooms } from "../../../../src/layers/crossfire/CoreLayer.ts"
import * as NoConversation from "../../../../src/layers/crossfire/NoConversation.ts"
import * as AccountWatch from "../../../../src/layers/crossfire/people/AccountWatch.ts"
import * as MemoryChanges from "../../../../src/layers/crossfire/people/MemoryChanges.ts"
import * as MemoryRevocations from "../../../../src/layers/crossfire/people/MemoryRevocations.ts"
import * as SignInLayer from "../../../../src/layers/crossfire/people/SignIn.ts"
import * as SqlitePeople from "../../../../src/layers/crossfire/people/SqlitePeople.ts"
import * as SqliteSessions from "../../../../src/layers/crossfire/people/SqliteSessions.ts"
import type { CrossfireDb } from "../../../../src/services/Database.ts"
import type { Matrix } from "../../../../src/services/Matrix.ts"
import { SignIn } from "../../../../src/services/SignIn.ts"
import { WebAddress } from "../../../../src/services/WebAddress.ts"

export const origin = "https://crossfire.example.org"

const address = Layer.succeed(
  WebAddress,
  WebAddress.of({ origin, homeserverUrl: "https://matrix.example.org", elementUrl: "https://app.element.io" })
)

/** Signing in, people, sessions and the core below; whoever watches accounts is not among them. */
export const doors = (outside: Layer.Layer<Matrix | CrossfireDb>) =>
  SignInLayer.layer.pipe(
    Layer.provideMerge(SqliteSessions.layer),
    Layer.provideMerge(SqlitePeople.layer({ homeserver: "managed" })),
    Layer.provideMerge(Layer.mergeAll(MemoryChanges.layer, MemoryRevocations.layer, address)),
    Layer.provideMerge(rooms.pipe(Layer.provide(NoConversation.layer))),
    Layer.provideMerge(foundation),
    Layer.provideMerge(outside)
  )

export const watched = (outside: Layer.Layer<Matrix | CrossfireDb>) =>
  AccountWatch.layer.pipe(Layer.provideMerge(doors(outside)))

export const ask = (user: string) => Effect.flatMap(SignIn, (signIn) => signIn.ask(user))

const readSecret = Schema.decodeUnknownOption(LinkSecret)

/** The secret behind the link in a message of the bot, if there is one. */
export const secretIn = (content: Readonly<Record<string, unknown>>): Option.Option<LinkSecret> => {
  const link = /<(https:\/\/[^>]+)>/u.exec(String(content["body"]))?.[1]
  return link === undefined ? Option.none() : readSecret(new URL(link).hash.slice(1))
}
