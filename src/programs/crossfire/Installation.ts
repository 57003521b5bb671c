// One installation of crossfire: its data folder, what the operator decided, and where the program's own files are.
import { Effect, Option } from "effect"
import { homedir } from "node:os"
import { isAbsolute, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import * as ServerSettings from "../../layers/crossfire/ServerSettings.ts"
import { hostEnvironment } from "../HostEnvironment.ts"

export interface Installation {
  readonly data: string
  readonly settings: ServerSettings.ServerSettings
  /** Synapse's Python and its launcher are found from here. */
  readonly root: string
}

export const root = fileURLToPath(new URL("../../..", import.meta.url))

/** The folder that was named, else the user's own data folder. */
export const dataFolder = (given: Option.Option<string>): string => {
  if (Option.isSome(given)) return resolve(given.value)
  const data = hostEnvironment["XDG_DATA_HOME"]
  // The XDG rules: a relative path there is invalid and passed over.
  return data !== undefined && isAbsolute(data) ? join(data, "crossfire") : join(homedir(), ".local/share/crossfire")
}

export const databasePath = (data: string): string => join(data, "crossfire.sqlite")

export const read = (given: Option.Option<string>): Effect.Effect<
  Installation,
  ServerSettings.ServerSettingsInvalid | ServerSettings.NotInitialized
> => {
  const data = dataFolder(given)
  return Effect.map(ServerSettings.read(data), (settings) => ({ data, settings, root }))
}
