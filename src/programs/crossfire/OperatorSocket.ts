// The operator's socket in the data folder: served as long as the server runs, to this user alone. Nobody calls it.
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { lstatSync, unlinkSync } from "node:fs"
import { join } from "node:path"
import { maxOperatorBodyBytes, OperatorApi } from "../../domain/api/Operator.ts"
import * as OwnFolder from "../../layers/files/OwnFolder.ts"
import { systemCode } from "../../layers/files/SystemCode.ts"
import * as ApiSocketServer from "../../layers/http/ApiSocketServer.ts"
import type { HomeserverProcess } from "../../services/HomeserverProcess.ts"
import { Instance } from "../../services/Instance.ts"
import { Invitations } from "../../services/Invitations.ts"
import { People } from "../../services/People.ts"
import { PersonAccounts } from "../../services/PersonAccounts.ts"
import { Signup } from "../../services/Signup.ts"
import { operatorHandlers } from "./OperatorHandlers.ts"

export const operatorSocketPath = (data: string): string => join(data, "operator.sock")

export class DataFolderUnsafe extends Schema.TaggedError<DataFolderUnsafe>()("DataFolderUnsafe", {
  path: Schema.String,
  problem: OwnFolder.FolderProblem
}) {
  override get message(): string {
    const told = {
      missing: `There is no ${this.path}. Run \`crossfire init\` first, or name the folder with --data`,
      "broken-link": `${this.path} is a link that leads nowhere`,
      "not-a-folder": `${this.path} is not a folder`,
      foreign: `${this.path} belongs to another user. Use a folder of your own with --data`,
      "not-private": `${this.path} can be opened by other users. Close it with: chmod 700 ${this.path}`,
      unreadable: `${this.path} cannot be read`
    }
    return told[this.problem]
  }
}

/** Secrets, passwords and the operator's power stand in it. */
export const checkedFolder = (data: string): Effect.Effect<void, DataFolderUnsafe> =>
  OwnFolder.checked(data).pipe(
    Effect.mapError((problem) => new DataFolderUnsafe({ path: data, problem })),
    Effect.asVoid
  )

export class OperatorSocketFailed extends Schema.TaggedError<OperatorSocketFailed>()("OperatorSocketFailed", {
  path: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `crossfire's own socket ${this.path} cannot be served: ${this.reason}`
  }
}

/** What a server that was killed left there. The instance lock says that no other one serves it. */
const removeStale = (path: string) =>
  Effect.try({
    try: () => {
      const found = lstatSync(path, { throwIfNoEntry: false })
      if (found === undefined) return
      if (!found.isSocket()) {
        throw new OperatorSocketFailed({ path, reason: "something else stands there; move it away" })
      }
      unlinkSync(path)
    },
    catch: (cause) =>
      cause instanceof OperatorSocketFailed
        ? cause
        : new OperatorSocketFailed({ path, reason: systemCode(cause) ?? "unknown" })
  })

const make = (data: string, accountsLayer: Option.Option<Layer.Layer<PersonAccounts>>) =>
  Effect.gen(function*() {
    const path = operatorSocketPath(data)
    const services = yield* Effect.context<People | Invitations | Signup | Instance | HomeserverProcess>()
    const accounts = Option.isSome(accountsLayer)
      ? Option.some(Context.get(yield* Layer.build(accountsLayer.value), PersonAccounts))
      : Option.none()
    const handlers = Layer.provide(operatorHandlers({ data, accounts }), Layer.succeedContext(services))
    yield* removeStale(path)
    yield* ApiSocketServer.open(
      path,
      maxOperatorBodyBytes,
      HttpApiBuilder.api(OperatorApi).pipe(Layer.provide(handlers))
    ).pipe(
      Effect.mapError(({ reason }) => new OperatorSocketFailed({ path, reason }))
    )
  })

/** Built once the data folder was checked and its lock is held. */
export const layer = (data: string, accounts: Option.Option<Layer.Layer<PersonAccounts>>) =>
  Layer.scopedDiscard(make(data, accounts))
