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

export const RequestStateText = ({ state }: { readonly state: RequestView["state"] }) => {
  const [tone, text] = words[state]
  return <State tone={tone} text={text} />
}
