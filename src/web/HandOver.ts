// What an invited person gets as one text: from the homeserver's address to the sign-in here; and what whoever hands it over
// should know of its addresses.
export interface HandOver {
  readonly crossfireUrl: string
  readonly elementUrl: string | null
  readonly homeserverUrl: string
  readonly token: string
  readonly untilMillis: number
}

/** With the time zone: it may be read elsewhere. */
const until = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "long" })

export const handOverText = ({ crossfireUrl, elementUrl, homeserverUrl, token, untilMillis }: HandOver): string =>
  [
    `You are invited to crossfire. This is good for one account, until ${until.format(untilMillis)}.`,
    "",
    elementUrl === null ? "1. Open Element." : `1. Open Element: ${elementUrl}`,
    "2. Choose “Create account”, then “Edit” beside the homeserver, and enter:",
    `   ${homeserverUrl}`,
    "3. Choose a name and a password. Nobody else needs to know the password.",
    "4. When Element asks for a registration token, enter:",
    `   ${token}`,
    "5. Then sign in here with your new Matrix ID; before that you can own no agent:",
    `   ${crossfireUrl}`
  ].join("\n")

const parsed = (address: string): URL | null => {
  try {
    return new URL(address)
  } catch {
    return null
  }
}

/** It reaches nobody but whoever sits at the server's own machine. */
export const isLoopback = (address: string): boolean => {
  const host = parsed(address)?.hostname ?? ""
  return /^(?:(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|\[::1\])$/u.test(host)
}

/** A browser that loaded Element over HTTPS may refuse such a homeserver. */
export const isPlainHttp = (address: string): boolean => parsed(address)?.protocol === "http:"
