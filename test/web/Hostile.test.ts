// [A21] [A29]: strings from outside are text alone, in every place where one is shown.
import { expect } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { hostileState, hostileUser, payloads } from "../support/WebState.ts"
import { inBrowser, openSignedIn, overflow } from "./Site.ts"

/** No script ran, no foreign element stands in the page, no link leads to anything but the web. */
const harmless = async (page: Page) => {
  expect(await page.evaluate("globalThis.__pwned ?? null")).toBeNull()
  expect(await page.locator("iframe, object, embed, #bait, img, main script, form[action]").count()).toBe(0)
  const links: ReadonlyArray<string> = await page.evaluate("[...document.links].map(({ protocol }) => protocol)")
  expect(links.filter((protocol) => protocol !== "http:" && protocol !== "https:")).toEqual([])
  expect(await page.locator("body").isVisible()).toBe(true)
}

/** As the pages show it: what cannot be seen is written out, blanks as the browser lays them out. */
const shown = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}]/gu, (character) => {
    const codePoint = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")
    return `U+${codePoint}`
  })

const textOf = (page: Page): Promise<string> => page.evaluate("document.querySelector('main').textContent")

inBrowser("hostile strings", (it) => {
  it.scoped(
    `[A21] ${payloads.length} attacks in every string from outside are text on every page`,
    () =>
      Effect.gen(function*() {
        const state = hostileState(payloads)
        const { act, origin } = yield* openSignedIn(state, { viewport: { width: 360, height: 740 } })
        yield* act(async (page) => {
          const [whole, other] = state.requests.map(({ enrollmentId }) => `/requests/${enrollmentId}`)
          for (const path of ["/", "/requests", "/people", "/invitations", "/sessions", whole ?? "", other ?? ""]) {
            await page.goto(origin + path)
            await page.locator("main li, main section").first().waitFor()
            await harmless(page)
            expect(await overflow(page)).toBeLessThanOrEqual(0)
            if (path === "/people" || path === "/requests" || path === other) {
              expect(await textOf(page)).toContain(hostileUser)
              continue
            }
            const text = await textOf(page)
            for (const payload of payloads) expect(text).toContain(shown(payload))
          }
          await page.goto(`${origin}/invitations`)
          const rows = page.getByRole("list", { name: "Invitations" }).getByRole("listitem")
          for (const index of payloads.keys()) {
            await rows.nth(index).getByRole("button", { name: "Revoke" }).click()
            await page.getByRole("dialog").getByText("opens no account any more").waitFor()
            await harmless(page)
            await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click()
            await page.getByRole("dialog").waitFor({ state: "detached" })
          }
          await page.getByRole("button", { name: "Invite somebody" }).click()
          await page.getByRole("button", { name: "Make an invitation" }).click()
          await page.getByRole("dialog", { name: "Hand this over" }).waitFor()
          await harmless(page)
          expect(await page.getByRole("dialog").getByRole("link").count()).toBe(0)
          await page.goto(`${origin}/people`)
          await page.getByRole("button", { name: `What to do with ${hostileUser}` }).click()
          await page.getByRole("menuitem", { name: "Deactivate" }).click()
          await page.getByRole("dialog").getByText(hostileUser).waitFor()
          await harmless(page)
          for (const reason of payloads) {
            state.fails.set("GET /v1/fleets", { status: 503, body: JSON.stringify({ _tag: "ServerBusy", reason }) })
            await page.goto(origin)
            await page.getByRole("alert").waitFor()
            await harmless(page)
          }
        })
      }),
    90_000
  )

  it.scoped("[A29] [A39] characters that hide or turn the text are written out, and nothing around them turns", () =>
    Effect.gen(function*() {
      const turned = "\u202Egro.elpmaxe:ecila@\u200B"
      const { act, origin } = yield* openSignedIn(hostileState([turned]))
      yield* act(async (page) => {
        await page.goto(`${origin}/sessions`)
        const row = page.getByRole("listitem").filter({ hasText: "This one" })
        await row.waitFor()
        expect(await row.locator("bdi").first().innerText()).toBe("U+202Egro.elpmaxe:ecila@U+200B")
        await page.goto(origin)
        expect(await page.getByText("shown as").first().innerText()).toBe("shown as U+202Egro.elpmaxe:ecila@U+200B")
        const all: string = await page.evaluate("document.documentElement.outerHTML")
        expect(/[\u202A-\u202E\u2066-\u2069\u200B-\u200F]/u.test(all)).toBe(false)
      })
      const lines = hostileState(["one\ntwo\u0000\u001B[31m"])
      const other = yield* openSignedIn(lines)
      yield* other.act(async (page) => {
        await page.goto(`${other.origin}/requests/${lines.requests[0]?.enrollmentId ?? ""}`)
        await page.getByRole("heading", { name: "Look twice" }).waitFor()
        expect(await page.getByText("has characters that cannot be seen").isVisible()).toBe(true)
        expect(await page.locator(".block pre").innerText()).toBe("one\ntwoU+0000U+001B[31m")
        expect(await page.locator(".facts .mono").filter({ hasText: "one" }).first().innerText())
          .toBe("oneU+000AtwoU+0000U+001B[31m")
      })
    }))
})
