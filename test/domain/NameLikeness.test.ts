import { expect, it } from "@effect/vitest"
import { Either, Schema } from "effect"
import * as FastCheck from "effect/FastCheck"
import { displaySkeleton, doubtIn, hidesCharacters, mixesAlphabets, readsAs } from "../../src/domain/NameLikeness.ts"
import { nameSkeleton, RegisteredName } from "../../src/domain/Roster.ts"

const anyText = FastCheck.string({ unit: "binary", maxLength: 12 })
/** Text in which what matters here is likely: other alphabets, compatibility forms, marks, what cannot be seen. */
const dense = FastCheck.array(
  FastCheck.oneof(
    FastCheck.constantFrom(..."aAiIlL10oO5sSrnvVmM- ()'|"),
    FastCheck.integer({ min: 0x370, max: 0x58f }).map((code) => String.fromCodePoint(code)),
    FastCheck.integer({ min: 0x13a0, max: 0x13f5 }).map((code) => String.fromCodePoint(code)),
    FastCheck.constantFrom(..."𝐰𝓇ⅈ𝗍ｅřİıſẞßK℡ﬁ①", "\u0301", "\u200b", "\u202e", "\u{e0077}", "\u00ad", "\ufe0f")
  ),
  { maxLength: 10 }
).map((letters) => letters.join(""))
const registered = FastCheck.stringMatching(/^[a-z][a-z0-9-]{0,30}[a-z0-9]$/u)

const decode = Schema.decodeUnknownEither(RegisteredName)

const refusedNames = {
  "another alphabet (Cyrillic)": "wri\u0442er",
  "another alphabet throughout": "\u043f\u0438\u0441\u0430\u0442\u0435\u043b\u044c",
  "capital letters": "Writer",
  "full width": "\uff57riter",
  "mathematical letters": "\u{1d430}riter",
  "an accent": "wr\u00edter",
  "a combining mark": "wri\u0301ter",
  "right-to-left override": "wri\u202eter",
  "an isolate": "\u2066writer\u2069",
  "a zero-width space": "wri\u200bter",
  "a zero-width joiner": "wri\u200dter",
  "a soft hyphen": "wri\u00adter",
  "a word joiner": "writer\u2060",
  "a byte order mark": "\ufeffwriter",
  "tag characters": "writer\u{e0061}\u{e007f}",
  "a variation selector": "writer\ufe0f",
  "a Hangul filler": "\u3164writer",
  "a lone surrogate": "writer\ud800",
  "a NUL": "writer\u0000",
  "a line end": "writer\n",
  "a space": "wri ter",
  "a dotless i": "wr\u0131ter",
  "an emoji": "writer\u{1f916}"
}

it("[A30] [A29] a registered name is plain lower-case ASCII; anything else is refused with the grammar, by entry and field", () => {
  for (const name of Object.values(refusedNames)) {
    const refused = decode(name)
    expect(Either.isLeft(refused)).toBe(true)
    if (Either.isLeft(refused)) {
      expect(refused.left.message).toContain(
        "a name takes 2 to 32 lower-case letters, digits and inner hyphens, and starts with a letter"
      )
    }
  }
  FastCheck.assert(FastCheck.property(FastCheck.oneof(anyText, dense, registered), (name) => {
    expect(Either.isRight(decode(name))).toBe(/^[a-z][a-z0-9-]{0,30}[a-z0-9]$/.test(name))
  }))
})

it("[A30] the skeleton of registered names is folded, changes nothing twice, and makes look-alikes collide", () => {
  const alike = [
    ["writer", "wr1ter", "wrlter", "w-riter", "vvriter", "wr-1ter", "WRITER"],
    ["modern", "m0dem", "modem", "mo-dern"],
    ["sol", "s0l", "5o1", "soi", "so-i"]
  ]
  for (const names of alike) expect(new Set(names.map(nameSkeleton)).size).toBe(1)
  expect(new Set(["writer", "critic", "editor", "scribe", "bee"].map(nameSkeleton)).size).toBe(5)
  FastCheck.assert(FastCheck.property(registered, (name) => {
    const skeleton = nameSkeleton(name)
    expect(nameSkeleton(skeleton)).toBe(skeleton)
    expect(nameSkeleton(name.toUpperCase())).toBe(skeleton)
    expect(displaySkeleton(name)).toBe(skeleton)
  }))
})

it("[A29] the skeleton of a display name changes nothing twice and does not depend on case", () => {
  FastCheck.assert(
    FastCheck.property(FastCheck.oneof(anyText, dense), (name) => {
      const skeleton = displaySkeleton(name)
      expect(displaySkeleton(skeleton)).toBe(skeleton)
    }),
    { numRuns: 2_000 }
  )
  FastCheck.assert(FastCheck.property(registered, (name) => {
    expect(displaySkeleton(name.toUpperCase())).toBe(displaySkeleton(name))
  }))
})

it("[A29] names that read alike have one skeleton, however they are written", () => {
  const writings = [
    "writer",
    "Writer",
    "WRITER",
    "w r i t e r",
    "wr1ter",
    "\uff57\uff52\uff49\uff54\uff45\uff52",
    "\u{1d430}\u{1d42b}\u{1d422}\u{1d42d}\u{1d41e}\u{1d42b}",
    "w\u0433\u0456\u0442\u0435\u0433",
    "wr\u00edt\u00e9r",
    "w\u200bri\u2060ter\u{e0061}",
    "\u202ewriter",
    "wr\u0131ter",
    "vvriter"
  ]
  for (const name of writings) expect([name, displaySkeleton(name)]).toStrictEqual([name, displaySkeleton("writer")])
  expect(displaySkeleton("\u0410\u041b\u0406\u0421\u0415")).not.toBe("")
  expect(displaySkeleton("\u13aaLICE")).toBe(displaySkeleton("alice"))
  expect(readsAs("wr\u0456ter (Alice)")).toContain(displaySkeleton("writer"))
  expect(readsAs("\u200b")).toStrictEqual([])
})

it("[A29] what cannot be seen and mixed alphabets are found; what people are rightly called is not", () => {
  for (
    const name of [
      "ali\u200bce",
      "\u202eecila",
      "alice\u{e0061}",
      "al\u00adice",
      "\u3164",
      "a\u2066b",
      "al\u200dice",
      "\ud800x"
    ]
  ) {
    expect([name, hidesCharacters(name)]).toStrictEqual([name, true])
  }
  for (const name of ["al\u0456ce", "p\u0430ul", "\u0391lice", "\u13aalice", "\u0555livia"]) {
    expect([name, mixesAlphabets(name)]).toStrictEqual([name, true])
  }
  const fair = [
    "Alice",
    "Zo\u00eb O\u2019Brien-Smith",
    "\u0410\u043d\u043d\u0430 (Anna)",
    "\u0391\u03bd\u03bd\u03b1",
    "\u674e\u96f7 Lei",
    "\u3042\u3044\u3053 \u30a2\u30a4\u30b3",
    "\u0645\u062d\u0645\u062f",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "\u0915\u094d\u200d\u0937",
    "Alice \u{1f469}\u200d\u{1f4bb}",
    "Bob \u2764\ufe0f",
    "writer (alice)"
  ]
  for (const name of fair) expect([name, doubtIn(name)]).toStrictEqual([name, null])
})
