// How an enrollment request stands, in words.
import type { RequestView } from "../../domain/api/Management.ts"
import { State, type Tone } from "../parts/State.tsx"

const words: Readonly<Record<RequestView["state"], readonly [Tone, string]>> = {
  pending: ["warn", "Waits for its owner"],
  approved: ["good", "Approved"],
  introduced: ["good", "Taken in"],
  rejected: ["bad", "Rejected"],
  expired: ["quiet", "Expired"]
}

export const RequestStateText = ({ own, state }: { readonly state: RequestView["state"]; readonly own: boolean }) => {
  const [tone, text] = words[state]
  return <State tone={tone} text={own && state === "pending" ? "Waits for you" : text} />
}
