// The registration file by which a homeserver knows crossfire as its application service: its content and its private
// writing. The same for a managed homeserver and for one of your own.
import { Effect, Redacted, Schema } from "effect"
import { dirname } from "node:path"
import { namespacePrefix } from "../../services/Matrix.ts"
import type { FileFailed } from "../files/FileCall.ts"
import * as PrivateFile from "../files/PrivateFile.ts"

export interface Registration {
  readonly serverName: string
  readonly serviceId: string
  /** Where the homeserver reaches crossfire. */
  readonly url: string
  /** crossfire to homeserver. */
  readonly asToken: Redacted.Redacted
  /** Homeserver to crossfire. */
  readonly hsToken: Redacted.Redacted
}

export class FolderUnusable extends Schema.TaggedError<FolderUnusable>()("FolderUnusable", {
  path: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `${this.path} cannot be used: ${this.reason}`
  }
}

const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/gu, "\\$&")

/** JSON, which is YAML too: nothing a value holds can change the file's meaning. */
const write = Schema.encodeSync(Schema.parseJson(Schema.Unknown, { space: 2 }))
export const yaml = (document: Readonly<Record<string, unknown>>): string => `${write(document)}\n`

export const registrationFile = (registration: Registration): string =>
  yaml({
    id: registration.serviceId,
    url: registration.url,
    as_token: Redacted.value(registration.asToken),
    hs_token: Redacted.value(registration.hsToken),
    // In the exclusive namespace, so that no person can have or take that name.
    sender_localpart: `${namespacePrefix}sender`,
    rate_limited: false,
    // One failed typing notice would hold back every message behind it.
    receive_ephemeral: false,
    // Lets crossfire make its users' device without a login and its token.
    "io.element.msc4190": true,
    namespaces: {
      users: [{ exclusive: true, regex: `^@${namespacePrefix}[0-9a-z-]+:${literal(registration.serverName)}$` }],
      rooms: [],
      aliases: []
    }
  })

const unusable = ({ path, reason }: FileFailed) => new FolderUnusable({ path, reason })

export const privateFolder = (path: string): Effect.Effect<void, FolderUnusable> =>
  Effect.mapError(PrivateFile.privateFolder(path), unusable)

/** Replaces the file whole, readable by its owner alone from the first byte, and there after a power cut. */
export const privateFile = (path: string, text: string): Effect.Effect<void, FolderUnusable> =>
  PrivateFile.removeLeftovers(path).pipe(
    Effect.zipRight(PrivateFile.write(path, text)),
    Effect.mapError(unusable)
  )

/** Writes the registration to `path` for a homeserver of your own; its folder is made when it is not there. */
export const writeRegistration = (path: string, registration: Registration): Effect.Effect<void, FolderUnusable> =>
  Effect.mapError(PrivateFile.folder(dirname(path)), unusable).pipe(
    Effect.zipRight(privateFile(path, registrationFile(registration)))
  )
