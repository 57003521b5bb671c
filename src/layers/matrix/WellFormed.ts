// Event content with every lone surrogate replaced, keys included: the homeserver answers 500 to one (seen).

/** The same content in plain objects; what JSON cannot hold is left to its encoder. */
export const wellFormed = (value: unknown): unknown => {
  if (typeof value === "string") return value.toWellFormed()
  if (Array.isArray(value)) return value.map(wellFormed)
  if (typeof value !== "object" || value === null) return value
  return wellFormedContent(value)
}

export const wellFormedContent = (content: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(content).map(([key, entry]) => [key.toWellFormed(), wellFormed(entry)]))
