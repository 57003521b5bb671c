// The ID of the first event of a page that was cut off, where it stands in what was read. A scan and no parser: the rest of
// the text is missing. It takes the event's own field alone, never one of the same name inside of its content.

/** What the scan reads of a page at most, in characters. */
const maxScanCharacters = 256 * 1024
/** Matrix's own bound for an event ID, in characters. */
const maxIdCharacters = 255

/** The end of the string literal that begins at this quote, behind its closing quote; -1 where it is cut off. */
const endOfString = (text: string, start: number): number => {
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === "\\") at += 1
    else if (text[at] === "\"") return at + 1
  }
  return -1
}

/** `{"chunk":[{"event_id":"$…"`: the place of that field is the object in the array in the object. */
const eventDepth = 3

export const find = (head: Uint8Array): string | null => {
  const text = Buffer.from(head.buffer, head.byteOffset, head.byteLength).toString("utf8").slice(0, maxScanCharacters)
  const open: Array<string> = []
  let list = ""
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? ""
    if (character === "{" || character === "[") open.push(character)
    else if (character === "}" || character === "]") {
      open.pop()
      // The first event has ended without an ID.
      if (open.length === eventDepth - 1 && list === "chunk") return null
    } else if (character === "\"") {
      const end = endOfString(text, at)
      if (end < 0) return null
      const key = text.slice(at + 1, end - 1)
      const value = /^\s*:\s*/u.exec(text.slice(end, end + 20))
      if (value !== null && open.length === 1) list = key
      if (value !== null && key === "event_id" && list === "chunk" && open.join("") === "{[{") {
        const start = end + value[0].length
        const past = text[start] === "\"" ? endOfString(text, start) : -1
        const id = text.slice(start + 1, past - 1)
        return past > 0 && /^\$[!-~]+$/u.test(id) && id.length <= maxIdCharacters && !id.includes("\\") ? id : null
      }
      at = end - 1
    }
  }
  return null
}
