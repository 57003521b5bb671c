import { expect, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import * as fc from "effect/FastCheck"
import * as Markdown from "../../../src/layers/crossfire/Markdown.ts"
import * as MessageContent from "../../../src/layers/crossfire/MessageContent.ts"

const say = (text: string) => MessageContent.text({ text, replyTo: null, mentions: [] })

it("[A38] no raw HTML, no fetched images, no links of other kinds than web, mail and Matrix", () => {
  const html = (text: string) => Markdown.toHtml(text) ?? text
  expect(Markdown.toHtml("**b** <img src=x onerror=alert(1)>")).toBe(
    "<p><strong>b</strong> &lt;img src=x onerror=alert(1)&gt;</p>"
  )
  expect(html("![pixel](https://tracker.test/p.png)")).toBe(
    `<p><a href="https://tracker.test/p.png">pixel</a></p>`
  )
  expect(html("![](https://tracker.test/\"><script>)")).not.toContain("<script")
  for (const link of ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "vbscript:x", "//evil.test"]) {
    expect(html(`[click](${link})`)).not.toContain("href")
  }
  expect(html("https://example.org")).toContain(`<a href="https://example.org">`)
  expect(html("[m](matrix:r/room:example.org)")).toContain("href")
  expect(html("see main.rs and a@b.de")).not.toContain("href")
})

it("plain text has no HTML form, mentions always stand, broken characters are mended", () => {
  expect(say("hello there")).toStrictEqual({
    content: { msgtype: "m.text", body: "hello there", "m.mentions": {} },
    attachment: null
  })
  expect(say("a\uD800b\u0000c").content["body"]).toBe("a\uFFFDb\uFFFDc")
  expect(say("a & b").content).toStrictEqual({ msgtype: "m.text", body: "a & b", "m.mentions": {} })
})

it("an HTML form that would make the event too large is left out before a file is made", () => {
  const text = "**a** ".repeat(5_000)
  const { attachment, content } = say(text)
  expect(attachment).toBeNull()
  expect(content["formatted_body"]).toBeUndefined()
  expect(MessageContent.contentBytes(content)).toBeLessThanOrEqual(MessageContent.maxContentBytes)
})

const tags = "p|h[1-6]|blockquote|ul|ol|li|pre|code|strong|em|s|a|table|thead|tbody|tr|th|td|hr|br"
const tag = new RegExp(`^<(?:/(?:${tags})|(?:${tags})(?: (?:href|class|start)="[^"<>]*")?)>$`, "u")
const entities: Readonly<Record<string, string>> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": "\"" }

/** What a browser would make of it that is not on the list; empty where there is nothing. */
const forbidden = (html: string): ReadonlyArray<string> => {
  const written = html.match(/<[^>]*>?/gu) ?? []
  const addresses = [...html.matchAll(/href="([^"]*)"/gu)].map(([, address = ""]) =>
    address.replace(/&(?:amp|lt|gt|quot);/gu, (entity) => entities[entity] ?? entity)
  )
  const depths = written.reduce<ReadonlyArray<number>>(
    (
      before,
      part
    ) => [...before, (before.at(-1) ?? 0) + (part.startsWith("<a ") || part === "<a>" ? 1 : part === "</a>" ? -1 : 0)],
    []
  )
  return [
    ...written.filter((part) => !tag.test(part)),
    ...addresses.filter((address) =>
      !URL.canParse(address) || !["http:", "https:", "mailto:", "matrix:"].includes(new URL(address).protocol)
    ),
    ...depths.some((depth) => depth < 0 || depth > 1) ? ["links inside of links"] : []
  ]
}

const payloads = [
  "![pixel](https://tracker.test/p.png)",
  "![](https://tracker.test/p.png \"title\")",
  "![a][r]",
  "[read this][r]",
  "[r]: https://evil.test/?stolen=secret \"onmouseover=alert(1)\"",
  "[r]: javascript:alert(1)",
  "[![x](https://tracker.test/p.png)](https://evil.test/)",
  "![x](mxc://cf.test/media)",
  "![x](data:image/svg+xml;base64,PHN2Zz4=)",
  "[x](javascript:alert(1))",
  "[x](JaVaScRiPt:alert(1))",
  "[x](java\tscript:alert(1))",
  "[x](&#106;avascript:alert(1))",
  "[x](javascript&colon;alert(1))",
  "[x](\u0001javascript:alert(1))",
  "[x](data:text/html;base64,PHNjcmlwdD4=)",
  "[x](vbscript:msgbox)",
  "[x](file:///etc/passwd)",
  "[x](//evil.test/)",
  "[x](https://evil.test/\"onclick=\"alert(1))",
  "[x](<https://evil.test/ onclick=alert(1)>)",
  "<javascript:alert(1)>",
  "<https://evil.test/\"><script>alert(1)</script>>",
  "<img src=x onerror=alert(1)>",
  "<svg/onload=alert(1)>",
  "<a href=\"javascript:alert(1)\">x</a>",
  "<iframe srcdoc=\"<script>alert(1)</script>\">",
  "<style>@import 'https://evil.test/'</style>",
  "<!-- --><details open ontoggle=alert(1)>",
  "<mx-reply>",
  "```js\" onload=\"alert(1)\n</code><script>\n```",
  "``` onload=alert(1)>\ncode\n```",
  "|a|b|\n|:-|-:|\n|<b onclick=1>|x|",
  "1000000000. x\n2. y",
  "# <h1 onclick=alert(1)>",
  "`<script>`",
  "\\<script>\\",
  "mailto:a@b.test",
  "[m](mailto:a@b.test?subject=<script>)",
  "https://evil.test/<script>",
  "[x](matrix:u/alice:cf.test)",
  "@room",
  "> <b>",
  "**a ![x](https://a.test/*b**.png) c**",
  "\u202Egnp.exe"
]

it("[A38] whatever is written, nothing but listed tags, attributes and kinds of links goes out", () => {
  for (const payload of payloads) {
    expect([payload, forbidden(Markdown.toHtml(payload) ?? "")]).toStrictEqual([payload, []])
  }
  const piece = fc.oneof(
    fc.constantFrom(...payloads),
    fc.constantFrom(..."<>\"'&;()[]!`*_~|#:/\\ \n\t"),
    fc.string({ maxLength: 8 })
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), fc.constantFrom("", " ", "\n", "\n\n"), (pieces, between) => {
      const said = say(pieces.join(between)).content
      expect(forbidden(String(said["formatted_body"] ?? ""))).toStrictEqual([])
      const told = MessageContent.notice(pieces.join(between))
      expect(forbidden(String(told["formatted_body"] ?? ""))).toStrictEqual([])
    }),
    { numRuns: 1_500 }
  )
})

it("[A38] an image's address, written out or by reference, is a link that nothing follows by itself", () => {
  expect(Markdown.toHtml("![x][r]\n\n[r]: https://tracker.test/?secret=1")).toBe(
    `<p><a href="https://tracker.test/?secret=1">x</a></p>`
  )
  expect(Markdown.toHtml("[![x](https://a.test/p.png)](https://b.test/)")).toBe(
    `<p><a href="https://b.test/">x</a></p>`
  )
})

it("[A39] a name with line breaks makes no second line of a log, and none of the bot's own words", async () => {
  const lines: Array<string> = []
  const name = "plans\n{\"message\":\"an administrator signed in\"}\r\u2028\u0000"
  await Effect.runPromise(
    Effect.annotateLogs(Effect.logInfo("a file came"), { name }).pipe(
      Effect.provide(
        Logger.replace(Logger.defaultLogger, Logger.map(Logger.jsonLogger, (line) => void lines.push(line)))
      )
    )
  )
  expect(lines).toHaveLength(1)
  expect(lines[0]?.split(/[\n\r]/u)).toHaveLength(1)
  expect(MessageContent.notice(`\`${name}\``)["body"]).not.toContain("\u0000")
})
