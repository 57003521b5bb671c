// Where fleetd's random identifiers come from: the operating system, or a seed in the simulation. None is a secret.
import { Context, Effect, Random } from "effect"
import { randomUUID } from "node:crypto"

export class Uuids extends Context.Reference<Uuids>()("crossfire/layers/fleetd/Uuids", {
  defaultValue: (): { readonly next: Effect.Effect<string> } => ({ next: Effect.sync(() => randomUUID()) })
}) {}

export const nextUuid: Effect.Effect<string> = Effect.flatMap(Uuids, (uuids) => uuids.next)

/** Sixteen bytes as a UUID of the given version. */
export const uuidOf = (bytes: Uint8Array, version: 4 | 8): string => {
  const hex = Array.from(bytes.subarray(0, 16), (byte, place) => {
    const marked = place === 6 ? (byte & 0x0f) | (version << 4) : place === 8 ? (byte & 0x3f) | 0x80 : byte
    return marked.toString(16).padStart(2, "0")
  }).join("")
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-")
}

/** Identifiers that follow from the fiber's `Random`: the same seed gives the same ones. */
export const seeded: { readonly next: Effect.Effect<string> } = {
  next: Effect.map(
    Effect.replicateEffect(Random.nextIntBetween(0, 256), 16),
    (bytes) => uuidOf(Uint8Array.from(bytes), 4)
  )
}
