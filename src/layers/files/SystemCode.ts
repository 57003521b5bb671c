// The system's own code for a failure (`ENOENT`): the one part of Node's errors that can be told, since their messages name
// paths and sometimes more.

/** `null` for what the system did not report. */
export const systemCode = (cause: unknown): string | null =>
  typeof cause === "object" && cause !== null && "code" in cause && typeof cause.code === "string" ? cause.code : null
