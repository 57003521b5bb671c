// On which line the keys of a TOML text stand, so that a problem with a value can name it. It takes a text that a parser
// accepted; what that parser would refuse it may place wrongly, but never fails on.

/** The line, counted from 1, of the key at this path, or of the nearest table around it. */
export type LineOf = (path: ReadonlyArray<string | number>) => number

const bareKey = /[A-Za-z0-9_-]/u
const pathKey = (path: ReadonlyArray<string | number>): string => path.join("\u0000")

export const tomlLines = (source: string): LineOf => {
  const lines = new Map<string, number>()
  const arrays = new Map<string, number>()
  let at = 0
  let line = 1
  let table: ReadonlyArray<string | number> = []

  const step = () => {
    if (source[at] === "\n") line += 1
    at += 1
  }
  const stepTo = (end: number) => {
    for (let rest = Math.min(end, source.length) - at; rest > 0; rest--) step()
  }
  const skipWhile = (fits: (character: string) => boolean) => {
    while (at < source.length && fits(source.charAt(at))) step()
  }
  const skipLine = () => skipWhile((character) => character !== "\n")

  /** Passes a string that starts here, of any of the four kinds, and returns what stands between its quotes. */
  const skipString = (): string => {
    const quote = source.charAt(at)
    const long = source.startsWith(quote.repeat(3), at)
    const start = at + (long ? 3 : 1)
    const close = long ? quote.repeat(3) : quote
    stepTo(start)
    while (at < source.length && !source.startsWith(close, at)) {
      if (!long && source[at] === "\n") return source.slice(start, at)
      stepTo(at + (quote === "\"" && source[at] === "\\" ? 2 : 1))
    }
    const text = source.slice(start, at)
    stepTo(at + close.length)
    // Up to two quotes may stand right before the closing ones.
    if (long) skipWhile((character) => character === quote)
    return text
  }

  const isQuote = (character: string) => character === "\"" || character === "'"

  /** A dotted key, up to what follows it. */
  const readKey = (): ReadonlyArray<string> => {
    const parts: Array<string> = []
    while (at < source.length) {
      skipWhile((character) => character === " " || character === "\t" || character === ".")
      const character = source.charAt(at)
      if (isQuote(character)) parts.push(skipString())
      else if (bareKey.test(character)) {
        const start = at
        skipWhile((next) => bareKey.test(next))
        parts.push(source.slice(start, at))
      } else break
    }
    return parts
  }

  const skipValue = () => {
    let depth = 0
    while (at < source.length) {
      const character = source.charAt(at)
      if (isQuote(character)) skipString()
      else if (character === "#") skipLine()
      else if (character === "\n" && depth === 0) return
      else {
        if (character === "[" || character === "{") depth += 1
        if (character === "]" || character === "}") depth -= 1
        step()
      }
    }
  }

  /** The path with the index of the entry that is open in every array of tables on the way. */
  const resolved = (parts: ReadonlyArray<string>): ReadonlyArray<string | number> => {
    let path: ReadonlyArray<string | number> = []
    for (const part of parts) {
      path = [...path, part]
      const index = arrays.get(pathKey(path))
      if (index !== undefined) path = [...path, index]
    }
    return path
  }

  const place = (path: ReadonlyArray<string | number>, where: number) => {
    if (!lines.has(pathKey(path))) lines.set(pathKey(path), where)
  }

  const readHeader = () => {
    const where = line
    const isArray = source.startsWith("[[", at)
    stepTo(at + (isArray ? 2 : 1))
    const parts = readKey()
    const parent = resolved(parts.slice(0, -1))
    const named = [...parent, parts.at(-1) ?? ""]
    if (isArray) {
      const index = (arrays.get(pathKey(named)) ?? -1) + 1
      arrays.set(pathKey(named), index)
      place(named, where)
      table = [...named, index]
    } else {
      table = resolved(parts)
    }
    place(table, where)
    skipLine()
  }

  while (at < source.length) {
    skipWhile((character) => /\s/u.test(character))
    if (at >= source.length) break
    if (source[at] === "#") {
      skipLine()
      continue
    }
    if (source[at] === "[") {
      readHeader()
      continue
    }
    const where = line
    const parts = readKey()
    for (let length = 1; length <= parts.length; length++) place([...table, ...parts.slice(0, length)], where)
    skipWhile((character) => character !== "=" && character !== "\n")
    if (source[at] === "=") step()
    skipValue()
  }

  return (path) => {
    for (let length = path.length; length > 0; length--) {
      const found = lines.get(pathKey(path.slice(0, length)))
      if (found !== undefined) return found
    }
    return 1
  }
}
