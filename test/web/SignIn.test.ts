// Signing in to the web pages: asking for a link, using it, coming back to where one was.
import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { askingCookie, sessionCookie } from "../../src/domain/Session.ts"
import { goodLink } from "../support/WebStandIn.ts"
import { emptyState, ordinaryState } from "../support/WebState.ts"
import { focused, giveCookie, inBrowser, open, openSignedIn } from "./Site.ts"

inBrowser("signing in", (it) => {
  it.scoped("asks for a link, uses it in the same browser, and returns to where one was", () =>
    Effect.gen(function*() {
      const state = ordinaryState()
      const { act, context, origin } = yield* open(state)
      yield* act(async (page) => {
        await page.goto(`${origin}/sessions`)
        await page.getByRole("heading", { name: "Sign in" }).waitFor()
        expect(new URL(page.url()).pathname).toBe("/sign-in")
        await page.getByLabel("Your Matrix ID").fill("  @alice:example.org ")
        await page.getByRole("button", { name: "Send me a link" }).click()
        await page.getByRole("heading", { name: "Look into your chat" }).waitFor()
        expect(state.asked).toEqual(["@alice:example.org"])
        expect(await page.getByText("@cf-bot:example.org").first().isVisible()).toBe(true)
        await page.getByText("Nothing came?").click()
        expect(await page.getByText("at most 3 links in 15 minutes").isVisible()).toBe(true)

        // The bot's link opens beside it, as from a chat.
        const other = await context.newPage()
        await other.goto(`${origin}/sign-in/link#${goodLink}`)
        await other.getByRole("button", { name: "Sign in" }).click()
        await other.getByRole("heading", { name: "Sessions" }).waitFor()
        expect(new URL(other.url()).pathname).toBe("/sessions")
        // The page that waited learns of it, and is back where it was as well.
        await page.getByRole("heading", { name: "Sessions" }).waitFor()
      })
      const cookies = yield* Effect.promise(() => context.cookies(origin))
      const flags = cookies.filter(({ name }) => name === sessionCookie || name === askingCookie)
        .map(({ httpOnly, sameSite, secure }) => ({ httpOnly, sameSite, secure }))
      expect(flags).toEqual(Array.from({ length: 2 }, () => ({ httpOnly: true, sameSite: "Strict", secure: true })))
    }))

  it.scoped("[A16] opening the link decides nothing, and its secret leaves the address before the button is there", () =>
    Effect.gen(function*() {
      const state = emptyState()
      const { act, context, origin } = yield* open(state)
      const sent: Array<string> = []
      context.on("request", (request) => void sent.push(`${request.method()} ${request.url()}`))
      yield* act(async (page) => {
        await page.goto(`${origin}/sign-in/link#${goodLink}`)
        await page.getByRole("button", { name: "Sign in" }).waitFor()
        expect(page.url()).toBe(`${origin}/sign-in/link`)
        expect(await page.title()).toBe("crossfire")
        expect(state.changed).toEqual([])
        await page.goBack()
        await page.goForward()
        await page.reload()
        expect(await page.getByText("There is no link here any more").isVisible()).toBe(true)
      })
      expect(sent.filter((line) => line.includes(goodLink))).toEqual([])
      expect(sent.filter((line) => !line.startsWith("GET "))).toEqual([])
    }))

  it.scoped("tells why a link begins no session, and a new link in the same tab is taken", () =>
    Effect.gen(function*() {
      const state = emptyState()
      const { act, context, origin } = yield* open(state)
      yield* act(async (page) => {
        await page.goto(`${origin}/sign-in/link#${goodLink}`)
        await page.getByRole("button", { name: "Sign in" }).click()
        await page.getByRole("alert").filter({ hasText: "only in the browser that asked" }).waitFor()
        expect(await page.getByText("in which you asked for it").count()).toBe(0)
        expect(await page.getByRole("button", { name: "Sign in" }).count()).toBe(0)
        expect(await focused(page)).toBe("Ask for another link")
        await giveCookie(context, askingCookie, "asked")
        await page.goto(`${origin}/sign-in/link#${"x".repeat(43)}`)
        await page.getByRole("button", { name: "Sign in" }).click()
        await page.getByRole("alert").filter({ hasText: "was used already" }).waitFor()
        await page.evaluate(`location.hash = "${goodLink}"`)
        await page.getByRole("alert").waitFor({ state: "detached" })
        expect(page.url()).toBe(`${origin}/sign-in/link`)
        await page.getByRole("button", { name: "Sign in" }).click()
        await page.getByRole("heading", { name: "Fleets" }).waitFor()
      })
    }))

  it.scoped("signs in by keyboard alone", () =>
    Effect.gen(function*() {
      const { act, origin } = yield* open(ordinaryState())
      yield* act(async (page) => {
        await page.goto(`${origin}/`)
        await page.getByRole("heading", { name: "Sign in" }).waitFor()
        expect(await focused(page)).toBe("Your Matrix ID")
        await page.keyboard.press("Enter")
        await page.getByText("Type your Matrix ID, as Element shows it").waitFor()
        expect(await focused(page)).toBe("Your Matrix ID")
        await page.keyboard.type("bad name!!")
        await page.keyboard.press("Enter")
        await page.getByText("That is no Matrix ID").waitFor()
        await page.keyboard.press("Control+A")
        await page.keyboard.type("@alice:example.org")
        await page.keyboard.press("Enter")
        await page.getByRole("heading", { name: "Look into your chat" }).waitFor()
        expect(await focused(page)).toBe("Look into your chat")
        await page.goto(`${origin}/sign-in/link#${goodLink}`)
        await page.getByRole("button", { name: "Sign in" }).waitFor()
        expect(await focused(page)).toBe("Sign in")
        await page.keyboard.press("Enter")
        await page.getByRole("heading", { name: "Fleets" }).waitFor()
      })
    }))

  it.scoped("goes to the sign-in page as soon as an answer says that the session is over, and signs out", () =>
    Effect.gen(function*() {
      const state = ordinaryState()
      const { act, origin } = yield* openSignedIn(state)
      yield* act(async (page) => {
        await page.goto(`${origin}/people`)
        await page.getByRole("button", { name: "Add somebody" }).click()
        await page.getByLabel("Matrix ID").fill("frank")
        state.cookies.clear()
        await page.getByRole("button", { name: "Add", exact: true }).click()
        await page.getByRole("heading", { name: "Sign in" }).waitFor()
        expect(state.people).toHaveLength(4)
      })
      state.cookies.add("a-session")
      yield* act(async (page) => {
        await page.goto(`${origin}/`)
        await page.getByRole("button", { name: "Sign out" }).click()
        await page.getByRole("heading", { name: "Sign in" }).waitFor()
      })
      expect(state.cookies.size).toBe(0)
    }))
})
