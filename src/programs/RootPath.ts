// Which root folder a command is for: the option, else FLEET_ROOT, else the user's own data folder.
import { isAbsolute, join, resolve } from "node:path"

export const rootPath = (
  given: string | null,
  environment: Readonly<Record<string, string | undefined>>,
  home: string
): string => {
  if (given !== null && given !== "") return resolve(given)
  const named = environment["FLEET_ROOT"]
  if (named !== undefined && named !== "") return resolve(named)
  const data = environment["XDG_DATA_HOME"]
  // The XDG rules: a relative path there is invalid and passed over.
  return data !== undefined && isAbsolute(data) ? join(data, "fleetd") : join(home, ".local/share/fleetd")
}
