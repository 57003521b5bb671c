// The native engines that agents can run on: which exist, at which versions, and what a model choice must satisfy.
import { Schema } from "effect"

export const EngineKind = Schema.Literal("codex", "pi")
export type EngineKind = typeof EngineKind.Type

/** Verified versions; another one is refused by name until it passed the engines' own test suite. */
export const supportedVersions: Record<EngineKind, ReadonlyArray<string>> = {
  codex: ["0.171.0"],
  pi: ["1.6.0"]
}

/** One model an engine offers, with the efforts it takes. An empty list of efforts: the model takes none. */
export class ModelOffer extends Schema.Class<ModelOffer>("ModelOffer")({
  model: Schema.NonEmptyString,
  efforts: Schema.Array(Schema.NonEmptyString),
  isDefault: Schema.Boolean
}) {}

/** The model or effort of a roster entry that the engine does not offer. Never replaced, never clamped. */
export class ModelNotOffered extends Schema.TaggedError<ModelNotOffered>()("ModelNotOffered", {
  engine: EngineKind,
  setting: Schema.Literal("model", "effort"),
  wanted: Schema.String,
  offered: Schema.Array(Schema.String)
}) {
  override get message(): string {
    const offered = this.offered.length === 0 ? "none" : this.offered.join(", ")
    return `${this.engine} does not offer the ${this.setting} "${this.wanted}". Offered: ${offered}`
  }
}

/** The wish checked against the offers: the exact names, or the error that lists what is offered. */
export const checkModel = (
  engine: EngineKind,
  wish: { readonly model: string; readonly effort: string | null },
  offers: ReadonlyArray<ModelOffer>
): ModelOffer | ModelNotOffered => {
  const offer = offers.find((candidate) => candidate.model === wish.model)
  if (offer === undefined) {
    const offered = offers.map((candidate) => candidate.model)
    return new ModelNotOffered({ engine, setting: "model", wanted: wish.model, offered })
  }
  if (wish.effort !== null && !offer.efforts.includes(wish.effort)) {
    return new ModelNotOffered({ engine, setting: "effort", wanted: wish.effort, offered: offer.efforts })
  }
  return offer
}
