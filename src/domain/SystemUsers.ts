// The two users that crossfire itself speaks and acts as, beside the agents. Names only.
import { UserId } from "./Ids.ts"

/** Talks with people: enrollment, notices, sign-in. */
export const botUser = (serverName: string): UserId => UserId.make(`@cf-bot:${serverName}`)

/** Takes boundaries and holds the private control room. It talks with nobody. */
export const controlUser = (serverName: string): UserId => UserId.make(`@cf-control:${serverName}`)

export const serverOf = (user: UserId): string => user.slice(user.indexOf(":") + 1)
