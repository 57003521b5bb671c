// Text from outside as people may safely read it: what cannot be seen, or turns the reading direction, is named.
const hidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u{115F}\u{1160}\u{3164}\u{FFA0}]/gu

export type Piece =
  | { readonly _tag: "Text"; readonly text: string }
  | { readonly _tag: "Hidden"; readonly codePoint: string }

/** `keep`: characters that have a place here, such as the line feed in a text of several lines. */
export const visiblePieces = (text: string, keep: string): ReadonlyArray<Piece> => {
  const pieces: Array<Piece> = []
  let from = 0
  for (const match of text.matchAll(hidden)) {
    const [character] = match
    if (keep.includes(character)) continue
    if (match.index > from) pieces.push({ _tag: "Text", text: text.slice(from, match.index) })
    const codePoint = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")
    pieces.push({ _tag: "Hidden", codePoint })
    from = match.index + character.length
  }
  if (from < text.length) pieces.push({ _tag: "Text", text: text.slice(from) })
  return pieces
}

/** An address from the settings that a link may lead to; null for anything but http and https. */
export const safeUrl = (address: string): string | null => {
  try {
    const { href, protocol } = new URL(address)
    return protocol === "https:" || protocol === "http:" ? href : null
  } catch {
    return null
  }
}

export const matrixTo = (userId: string): string => `https://matrix.to/#/${encodeURIComponent(userId)}`
