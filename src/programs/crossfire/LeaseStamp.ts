// The lease that a request was made under, from its headers.
import type { LeaseHeaders } from "../../domain/api/Crossfire.ts"
import type { FleetStamp } from "../../services/FleetLeases.ts"

export const stampOf = (headers: typeof LeaseHeaders.Type): FleetStamp => ({
  generation: headers["x-crossfire-generation"],
  incarnation: headers["x-crossfire-incarnation"]
})
