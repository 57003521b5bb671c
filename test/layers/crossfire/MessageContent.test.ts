import { expect, it } from "@effect/vitest"
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
