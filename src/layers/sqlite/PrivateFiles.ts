// SQLite's files are this user's alone: made private before SQLite opens them, since it would make them readable for others.
// Its side files take over the mode.
import { chmodSync, closeSync, openSync } from "node:fs"
import { systemCode } from "../files/SystemCode.ts"

/**
 * The file exists and is private when it returns. One that is there is not opened: closing it would drop the kernel's locks
 * that this process may hold on it.
 */
export const makePrivateSync = (path: string): void => {
  try {
    closeSync(openSync(path, "wx", 0o600))
  } catch (cause) {
    if (systemCode(cause) !== "EEXIST") throw cause
  }
  chmodSync(path, 0o600)
}
