// Where somebody was when they had to sign in: kept in the tab itself, and for the link, which opens in another tab, in the
// browser's storage for this origin. Only one of our own paths ever comes out of it.
import { pagePaths } from "../domain/WebPaths.ts"

const key = "crossfire:return-to"
const ours = /^\/(?:requests|requests\/[0-9a-f-]{36}|people|invitations|sessions)?$/u

export const remember = (path: string) => {
  if (!ours.test(path)) return
  try {
    sessionStorage.setItem(key, path)
    localStorage.setItem(key, path)
  } catch {
    // No storage: the overview is where one returns to.
  }
}

export const takeBack = (): string => {
  try {
    const path = sessionStorage.getItem(key) ?? localStorage.getItem(key)
    sessionStorage.removeItem(key)
    localStorage.removeItem(key)
    return path !== null && ours.test(path) ? path : pagePaths.fleets
  } catch {
    return pagePaths.fleets
  }
}

const channelName = "crossfire:signed-in"

/** Tells this browser's other tabs, one of which waits on the sign-in page. */
export const tellOtherTabs = () => {
  const channel = new BroadcastChannel(channelName)
  channel.postMessage(null)
  channel.close()
}

export const onSignedInElsewhere = (react: () => void): () => void => {
  const channel = new BroadcastChannel(channelName)
  channel.addEventListener("message", react)
  return () => channel.close()
}
