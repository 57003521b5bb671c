// What an engine sees of the daemon's environment: the names below and no others. Provider keys, other programs' settings and
// tokens of this product stay outside, whatever the daemon was started with.

export const inheritedNames: ReadonlyArray<string> = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "LANG",
  "LC_ALL",
  "LC_CTYPE",
  "TZ",
  "TERM",
  "TMPDIR"
]

/** `hostEnvironment` is the daemon's own; `extraEnvironment` is what the owner gives to the engine on purpose. */
export const engineEnvironment = (config: {
  readonly hostEnvironment: Readonly<Record<string, string | undefined>>
  readonly extraEnvironment: Readonly<Record<string, string>>
}): Record<string, string> => ({
  ...Object.fromEntries(inheritedNames.flatMap((name) => {
    const value = config.hostEnvironment[name]
    return value === undefined ? [] : [[name, value] as const]
  })),
  ...config.extraEnvironment
})
