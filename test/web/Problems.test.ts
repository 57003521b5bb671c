// What the pages do when an answer fails: it is said where it happened, and the same thing can be tried again.
import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { ordinaryState } from "../support/WebState.ts"
import { inBrowser, openSignedIn } from "./Site.ts"

const busy = { status: 503, body: JSON.stringify({ _tag: "ServerBusy", reason: "The disk is full" }) }

inBrowser("problems", (it) => {
  it.scoped("shows a list's failure in its place, and the list after another try", () =>
    Effect.gen(function*() {
      const state = ordinaryState()
      state.fails.set("GET /v1/fleets", busy)
      const { act, origin } = yield* openSignedIn(state)
      yield* act(async (page) => {
        await page.goto(origin)
        const alert = page.getByRole("alert").filter({ hasText: "The disk is full" })
        await alert.getByRole("button", { name: "Try again" }).click()
        await page.getByRole("heading", { name: "fleet-street" }).waitFor()
        expect(await page.getByRole("alert").count()).toBe(0)
      })
    }))

  it.scoped("keeps what was shown while asking for it anew fails", () =>
    Effect.gen(function*() {
      const state = ordinaryState()
      const { act, origin, publish } = yield* openSignedIn(state)
      yield* act(async (page) => {
        await page.goto(origin)
        await page.getByRole("heading", { name: "fleet-street" }).waitFor()
      })
      state.fails.set("GET /v1/fleets", busy)
      yield* publish("fleets")
      yield* act(async (page) => {
        await page.getByRole("alert").filter({ hasText: "The disk is full" }).waitFor()
        expect(await page.getByRole("heading", { name: "fleet-street" }).isVisible()).toBe(true)
      })
    }))

  it.scoped("keeps what was typed when a change is refused, and takes it the next time", () =>
    Effect.gen(function*() {
      const state = ordinaryState()
      const { act, context, origin } = yield* openSignedIn(state)
      yield* act(async (page) => {
        await page.goto(`${origin}/people`)
        await page.getByRole("button", { name: "Add somebody" }).click()
        await page.getByLabel("Matrix ID").fill("@dora:example.org")
        const dialog = page.getByRole("dialog")
        const add = dialog.getByRole("button", { name: "Add", exact: true })
        for (
          const [answer, told] of [
            [{ status: 429, body: "{\"_tag\":\"TooManyAttempts\",\"retryAfterMillis\":4000}" }, "Too many attempts"],
            [{ status: 502, body: "<html>bad gateway</html>" }, "answered with status 502"],
            [{ status: 200, body: "{\"something\":\"else\"}" }, "in a form that this page does not know"],
            [{ status: 403, body: "{\"_tag\":\"OriginRefused\",\"problem\":\"no-proof\"}" }, "load the page again"],
            [{ status: 503, body: "{\"_tag\":\"AnswerTooSlow\",\"withinMillis\":30000}" }, "no answer within 30 s"]
          ] as const
        ) {
          state.fails.set("POST /v1/people", answer)
          await add.click()
          await dialog.getByRole("alert").filter({ hasText: told }).waitFor()
        }
        await context.setOffline(true)
        await add.click()
        await dialog.getByRole("alert").filter({ hasText: "crossfire cannot be reached" }).waitFor()
        await context.setOffline(false)
        await add.click()
        await dialog.waitFor({ state: "detached" })
        await page.getByText("@dora:example.org", { exact: true }).waitFor()
      })
      expect(state.people).toHaveLength(5)
    }))

  it.scoped("says at the start that crossfire does not answer, and goes on when it does", () =>
    Effect.gen(function*() {
      const state = ordinaryState()
      state.fails.set("GET /v1/session", busy)
      const { act, origin } = yield* openSignedIn(state)
      yield* act(async (page) => {
        await page.goto(`${origin}/requests`)
        await page.getByRole("heading", { name: "crossfire does not answer" }).waitFor()
        await page.getByRole("button", { name: "Try again" }).click()
        await page.getByRole("heading", { name: "Requests" }).waitFor()
      })
    }))
})
