// A sign-in link's secret, taken out of the address at once: it stands in no history, no screenshot and no bookmark.
import { MutableRef, Option, Schema } from "effect"
import { LinkSecret } from "../domain/Session.ts"
import { pagePaths } from "../domain/WebPaths.ts"

const held = MutableRef.make(Option.none<LinkSecret>())
const read = Schema.decodeUnknownOption(LinkSecret)

/** Before the page is shown, and again when another link is opened in the same tab. */
export const takeLink = () => {
  const take = () => {
    if (location.pathname !== pagePaths.signInLink || location.hash === "") return
    MutableRef.set(held, read(location.hash.slice(1)))
    history.replaceState(history.state, "", location.pathname)
    dispatchEvent(new Event(linkTaken))
  }
  take()
  addEventListener("hashchange", take)
}

export const linkTaken = "crossfire:link"
export const heldLink = () => MutableRef.get(held)
export const dropLink = () => {
  MutableRef.set(held, Option.none())
}
