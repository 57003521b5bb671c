// The forms of the bearer credentials. The prefix tells people and secret scanners what they found; it grants nothing.

export const fleetTokenPrefix = "cff_"
export const agentTokenPrefix = "cfa_"

const form = (prefix: string) => new RegExp(`^${prefix}[A-Za-z0-9_-]{43}$`, "u")

export const isFleetToken = (text: string): boolean => form(fleetTokenPrefix).test(text)
export const isAgentToken = (text: string): boolean => form(agentTokenPrefix).test(text)

const anywhere = /cf[fa]_[A-Za-z0-9_-]{20,}/u

/** Whether a credential, or a part of one long enough to matter, stands somewhere in the text. */
export const holdsToken = (text: string): boolean => anywhere.test(text)
