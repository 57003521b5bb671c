// The session's secret that goes with every change. It lives in this page's memory alone: a reload asks for it again.
import { MutableRef } from "effect"

const held = MutableRef.make<string | null>(null)

export const csrfSecret = {
  get: () => MutableRef.get(held),
  set: (secret: string) => {
    MutableRef.set(held, secret)
  }
}
