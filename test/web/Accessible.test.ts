// For everybody: no findings of axe on any page in both schemes, no sideways scrolling on a small phone, the chosen scheme
// kept, motion left out where it is not wanted.
import { expect } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { emptyState, ordinaryState } from "../support/WebState.ts"
import { axe, focused, inBrowser, open, openSignedIn, overflow } from "./Site.ts"

const narrow = { width: 360, height: 740 }

/** Until nothing moves any more. Asked from here: the page's policy lets nothing be evaluated within it. */
const still = async (page: Page) => {
  while (await page.evaluate<boolean>("document.getAnimations().some(({ playState }) => playState === 'running')"));
}

/** Every page, and every dialog of it that there is; each is looked at as it stands. */
const everything = async (
  page: Page,
  origin: string,
  requests: ReadonlyArray<string>,
  look: (what: string) => Promise<void>
) => {
  for (const path of ["/", "/requests", "/people", "/invitations", "/sessions", ...requests, "/requests/none"]) {
    await page.goto(origin + path)
    await page.locator("main li, main section").first().waitFor()
    await look(path)
  }
  const dialog = async (path: string, ...buttons: ReadonlyArray<string>) => {
    await page.goto(origin + path)
    for (const name of buttons) {
      await page.getByRole("button", { name }).or(page.getByRole("menuitem", { name })).first().click()
    }
    await page.getByRole("dialog").or(page.getByRole("menu")).first().waitFor()
    await still(page)
    await look(`${path} ${buttons.join(" > ")}`)
  }
  if (requests.length === 0) return
  await dialog("/", "What to do with reporter")
  await dialog("/", "What to do with reporter", "Rename")
  await dialog("/", "What to do with reporter", "Permissions")
  await dialog("/", "What to do with reporter", "Retire")
  await dialog("/people", "Add somebody")
  await dialog("/invitations", "Invite somebody")
  await dialog("/invitations", "Invite somebody", "Make an invitation")
  await dialog("/sessions", "End all others")
}

inBrowser("accessibility", (it) => {
  for (const colorScheme of ["light", "dark"] as const) {
    it.scoped(`axe finds nothing on any page, ${colorScheme}`, () =>
      Effect.gen(function*() {
        const state = ordinaryState()
        const paths = state.requests.map(({ enrollmentId }) => `/requests/${enrollmentId}`)
        const full = yield* openSignedIn(state, { colorScheme, reducedMotion: "reduce" })
        const found: Array<string> = []
        const look = (page: Page) => async (what: string) => {
          await still(page)
          for (const finding of await axe(page)) found.push(`${what}: ${finding}`)
        }
        yield* full.act((page) => everything(page, full.origin, paths, look(page)))
        const empty = yield* openSignedIn(emptyState(), { colorScheme, reducedMotion: "reduce" })
        yield* empty.act((page) => everything(page, empty.origin, [], look(page)))
        const outside = yield* open(emptyState(), { colorScheme, reducedMotion: "reduce" })
        yield* outside.act(async (page) => {
          await page.goto(`${outside.origin}/sign-in`)
          await page.getByLabel("Your Matrix ID").fill("@alice:example.org")
          await look(page)("sign-in")
          await page.keyboard.press("Enter")
          await page.getByText("Nothing came?").click()
          await look(page)("asked")
          await page.goto(`${outside.origin}/sign-in/link#${"x".repeat(43)}`)
          await page.getByRole("button", { name: "Sign in" }).click()
          await page.getByRole("alert").waitFor()
          await look(page)("link")
          const scheme = await page.evaluate("document.documentElement.dataset.mantineColorScheme")
          expect(scheme).toBe(colorScheme)
        })
        expect(found).toEqual([])
      }), 120_000)
  }

  it.scoped("nothing scrolls sideways at 360 pixels, menu and dialogs included", () =>
    Effect.gen(function*() {
      const state = ordinaryState()
      const paths = state.requests.map(({ enrollmentId }) => `/requests/${enrollmentId}`)
      const { act, origin } = yield* openSignedIn(state, { viewport: narrow, hasTouch: true, isMobile: true })
      const wide: Array<string> = []
      yield* act(async (page) => {
        await everything(page, origin, paths, async (what) => {
          if (await overflow(page) > 0) wide.push(what)
        })
        await page.goto(origin)
        await page.getByRole("button", { name: "Open the menu" }).click()
        const drawer = page.getByRole("dialog")
        await drawer.getByRole("link", { name: "Sessions" }).click()
        await page.getByRole("heading", { name: "Sessions" }).waitFor()
        await drawer.waitFor({ state: "detached" })
      })
      expect(wide).toEqual([])
    }), 60_000)

  it.scoped("keeps the chosen colour scheme from before the first paint on", () =>
    Effect.gen(function*() {
      const { act, origin } = yield* open(emptyState(), { colorScheme: "light" })
      yield* act(async (page) => {
        await page.goto(`${origin}/sign-in`)
        await page.getByRole("button", { name: "Colour scheme" }).click()
        await page.getByRole("menuitem", { name: "Dark" }).click()
        // Without the application: only the small script in the head.
        await page.route("**/assets/*.js", (route) => route.abort())
        await page.reload({ waitUntil: "domcontentloaded" })
        expect(await page.evaluate("document.documentElement.dataset.mantineColorScheme")).toBe("dark")
      })
    }))

  it.scoped("moves the focus to a page's heading, and closes a dialog by Escape with the focus back", () =>
    Effect.gen(function*() {
      const { act, origin } = yield* openSignedIn(ordinaryState())
      yield* act(async (page) => {
        await page.goto(origin)
        await page.getByRole("link", { name: "People" }).focus()
        await page.keyboard.press("Enter")
        await page.getByRole("heading", { name: "People" }).waitFor()
        expect(await focused(page)).toBe("People")
        await page.getByRole("button", { name: "Add somebody" }).focus()
        await page.keyboard.press("Enter")
        await page.getByRole("dialog").waitFor()
        await page.keyboard.press("Escape")
        await page.getByRole("dialog").waitFor({ state: "detached" })
        expect(await focused(page)).toBe("Add somebody")
      })
    }))
})
