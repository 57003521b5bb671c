// Several pages of one browser at once, and a page that comes back: none shows what is over, none keeps others from loading.
import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { UserId } from "../../src/domain/Ids.ts"
import { askingCookie } from "../../src/domain/Session.ts"
import { goodLink } from "../support/WebStandIn.ts"
import { ordinaryState } from "../support/WebState.ts"
import { giveCookie, inBrowser, openSignedIn } from "./Site.ts"

const bob = UserId.make("@bob:example.org")

/** As the browser does it to a page behind others, which a browser without a window never has. */
const putBehind = (behind: boolean) =>
  `Object.defineProperty(document, "visibilityState", { configurable: true, value: "${
    behind ? "hidden" : "visible"
  }" });
   document.dispatchEvent(new Event("visibilitychange"))`

inBrowser("several pages", (it) => {
  it.scoped("[A41] pages behind others hold no connection: the tenth loads as the first, and each is true when it comes to the front", () =>
    Effect.gen(function*() {
      const state = ordinaryState()
      const { act, context, origin } = yield* openSignedIn(state)
      yield* act(async (page) => {
        await page.goto(`${origin}/people`)
        await page.getByText("@bob:example.org").first().waitFor()
        await page.evaluate(putBehind(true))
        for (let count = 0; count < 9; count += 1) {
          const other = await context.newPage()
          await other.goto(`${origin}/sessions`)
          await other.getByRole("heading", { name: "Sessions" }).waitFor()
          await other.getByLabel("Sessions").first().waitFor()
          await other.evaluate(putBehind(true))
        }
        expect(await page.getByText("The connection to crossfire is lost").count()).toBe(0)
        state.people = state.people.filter(({ userId }) => userId !== bob)
        await page.evaluate(putBehind(false))
        await page.getByText("@bob:example.org").first().waitFor({ state: "detached" })
      })
    }))

  it.scoped("whoever signs in in another page is whom every page shows", () =>
    Effect.gen(function*() {
      const state = ordinaryState()
      const { act, context, origin } = yield* openSignedIn(state)
      yield* act(async (page) => {
        await page.goto(`${origin}/people`)
        await page.getByText(state.me).first().waitFor()
        await giveCookie(context, askingCookie, "asked")
        state.me = bob
        state.role = "member"
        const other = await context.newPage()
        await other.goto(`${origin}/sign-in/link#${goodLink}`)
        await other.getByRole("button", { name: "Sign in" }).click()
        await other.getByRole("heading", { name: "Fleets" }).waitFor()
        await page.locator(".who", { hasText: bob }).first().waitFor()
        await page.getByRole("button", { name: "Add somebody" }).waitFor({ state: "detached" })
      })
    }))

  it.scoped("[A11] after signing out, going back shows nothing of the person", () =>
    Effect.gen(function*() {
      const state = ordinaryState()
      const { act, origin } = yield* openSignedIn(state)
      yield* act(async (page) => {
        await page.goto(`${origin}/people`)
        await page.getByText("@bob:example.org").first().waitFor()
        await page.goto(`${origin}/sessions`)
        await page.getByRole("button", { name: "Sign out" }).click()
        await page.getByRole("heading", { name: "Sign in" }).waitFor()
        for (let steps = 0; steps < 2; steps += 1) {
          await page.goBack()
          await page.getByRole("heading", { name: "Sign in" }).waitFor()
          expect(await page.getByText(/@(?:bob|alice):example\.org/u).count()).toBe(0)
        }
      })
    }))
})
