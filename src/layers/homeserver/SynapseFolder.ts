// The private folder of a managed Synapse: its secrets, port and identity are made once and kept, its configuration files
// are written anew at every start. It starts nothing.
import { Effect, Redacted, Schema } from "effect"
import { randomBytes, randomUUID } from "node:crypto"
import { access, readFile } from "node:fs/promises"
import { createServer } from "node:net"
import { FolderUnusable, privateFile, privateFolder, registrationFile, yaml } from "./Registration.ts"
import { fileNames, logging, settings, type SynapseConfig } from "./SynapseConfig.ts"

/** The folder belongs to another server name: accounts and rooms carry it, so it cannot change. */
export class ServerNameFixed extends Schema.TaggedError<ServerNameFixed>()("ServerNameFixed", {
  folder: Schema.String,
  kept: Schema.String,
  wanted: Schema.String
}) {
  override get message(): string {
    return `The homeserver in ${this.folder} is "${this.kept}" and cannot become "${this.wanted}". Name it as it is, or use another folder`
  }
}

const Kept = Schema.Struct({
  serverName: Schema.String,
  instanceId: Schema.UUID,
  port: Schema.Int,
  asToken: Schema.Redacted(Schema.NonEmptyString),
  hsToken: Schema.Redacted(Schema.NonEmptyString),
  registrationSharedSecret: Schema.Redacted(Schema.NonEmptyString),
  macaroonSecretKey: Schema.Redacted(Schema.NonEmptyString),
  formSecret: Schema.Redacted(Schema.NonEmptyString)
})
/** What was made once for this folder. */
export type Kept = typeof Kept.Type

const KeptFile = Schema.parseJson(Kept, { space: 2 })
const readKept = Schema.decode(KeptFile)
const writeKept = Schema.encodeSync(KeptFile)

export interface FolderConfig {
  readonly folder: string
  readonly serverName: string
  /** A fixed port, or null for a free one that is chosen once. */
  readonly port: number | null
  readonly publicBaseUrl: string | null
  readonly registration: SynapseConfig["registration"]
  readonly serviceId: string
  /** Where crossfire listens for what the homeserver pushes. */
  readonly pushUrl: string
  readonly settings: SynapseConfig["settings"]
}

const secret = () => Redacted.make(randomBytes(32).toString("base64url"))

/** A port that is free on loopback now. */
const freePort = Effect.async<number, FolderUnusable>((resume) => {
  const server = createServer()
  const failed = (reason: string) => resume(Effect.fail(new FolderUnusable({ path: "127.0.0.1", reason })))
  server.once("error", (cause) => failed(cause.message))
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    server.close(() =>
      typeof address === "object" && address !== null
        ? resume(Effect.succeed(address.port))
        : failed("no port was given")
    )
  })
})

const load = (config: FolderConfig) => {
  const path = `${config.folder}/secrets.json`
  const unusable = (reason: string) => new FolderUnusable({ path, reason })
  return Effect.gen(function*() {
    if (!(yield* exists(path))) {
      // The database without its secrets would lock every account out, silently: that is for the operator to decide.
      const used = yield* exists(`${config.folder}/${fileNames.database}`)
      if (used) return yield* unusable("it is gone, and a database stands beside it: restore it from a backup")
      const made: Kept = {
        serverName: config.serverName,
        instanceId: randomUUID(),
        port: config.port ?? (yield* freePort),
        asToken: secret(),
        hsToken: secret(),
        registrationSharedSecret: secret(),
        macaroonSecretKey: secret(),
        formSecret: secret()
      }
      yield* privateFile(path, writeKept(made))
      return made
    }
    const text = yield* Effect.tryPromise({
      try: () => readFile(path, "utf8"),
      catch: () => unusable("it cannot be read")
    })
    // A parse error would carry the file's text.
    const kept = yield* Effect.mapError(readKept(text), () => unusable("it is damaged: restore it from a backup"))
    if (kept.serverName !== config.serverName) {
      return yield* new ServerNameFixed({ folder: config.folder, kept: kept.serverName, wanted: config.serverName })
    }
    if (config.port === null || config.port === kept.port) return kept
    const moved = { ...kept, port: config.port }
    yield* privateFile(path, writeKept(moved))
    return moved
  })
}

export const exists = (path: string): Effect.Effect<boolean> =>
  Effect.promise(() => access(path).then(() => true, () => false))

/** Makes or reads what is kept and writes the configuration; the signing key is Synapse's own to make. */
export const prepare = (config: FolderConfig) =>
  Effect.gen(function*() {
    const { folder } = config
    yield* privateFolder(folder)
    const kept = yield* load(config)
    yield* privateFile(
      `${folder}/${fileNames.registration}`,
      registrationFile({
        serverName: config.serverName,
        serviceId: config.serviceId,
        url: config.pushUrl,
        asToken: kept.asToken,
        hsToken: kept.hsToken
      })
    )
    yield* privateFile(`${folder}/${fileNames.logging}`, yaml(logging(folder)))
    yield* writeSettings(config, kept)
    return kept
  })

/** Synapse's own settings, which it reads at its start. */
export const writeSettings = (config: FolderConfig, kept: Kept): Effect.Effect<void, FolderUnusable> =>
  privateFile(
    `${config.folder}/${fileNames.settings}`,
    yaml(settings({ ...config, port: kept.port, secrets: kept }))
  )
