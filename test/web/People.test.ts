// People, invitations, the signup policy, one's own sessions.
import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { bob, ordinaryState } from "../support/WebState.ts"
import { inBrowser, openSignedIn } from "./Site.ts"

inBrowser("people", (it) => {
  it.scoped("makes an invitation, shows its token once with the steps, and revokes it", () =>
    Effect.gen(function*() {
      const state = ordinaryState()
      const { act, context, origin } = yield* openSignedIn(state)
      yield* Effect.promise(() => context.grantPermissions(["clipboard-read", "clipboard-write"], { origin }))
      yield* act(async (page) => {
        await page.goto(`${origin}/invitations`)
        await page.getByRole("button", { name: "Invite somebody" }).click()
        await page.getByLabel("Who is it for?").fill("Frank, sports")
        await page.getByRole("combobox", { name: "Good for" }).click()
        await page.getByRole("option", { name: "1 day" }).click()
        await page.getByRole("button", { name: "Make an invitation" }).click()
        const dialog = page.getByRole("dialog", { name: "Hand this over" })
        const whole = dialog.getByRole("region", { name: "For the invited person" })
        await whole.waitFor()
        await dialog.getByRole("button", { name: "Copy all" }).click()
        await dialog.getByText("Copied all").waitFor()
        const copied = await page.evaluate("navigator.clipboard.readText()")
        for (
          const part of ["https://app.element.io/", "https://matrix.example.org", state.token, `${origin}/sign-in`]
        ) {
          expect(copied).toContain(part)
          expect(await whole.innerText()).toContain(part)
        }
        // This crossfire is reached on its own machine alone; the homeserver elsewhere, and by TLS.
        expect(await dialog.getByText("on this machine alone").innerText()).toContain(
          `${origin}: on this machine alone`
        )
        expect(await dialog.getByText("may refuse this homeserver").count()).toBe(0)
        await dialog.getByRole("button", { name: "Copy the token" }).click()
        await dialog.getByText("Copied the token").waitFor()
        expect(await page.evaluate("navigator.clipboard.readText()")).toBe(state.token)
        // It cannot be lost by a click beside it.
        await page.mouse.click(10, 10)
        expect(await dialog.isVisible()).toBe(true)
        await dialog.getByRole("button", { name: "I have it" }).click()
        await dialog.waitFor({ state: "detached" })
        expect(await page.getByText(state.token).count()).toBe(0)

        const row = page.getByRole("listitem").filter({ hasText: "Frank, sports" })
        await row.getByRole("button", { name: "Revoke" }).click()
        await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click()
        await row.getByText("Revoked").waitFor()
      })
      expect(state.invitations[0]).toMatchObject({ note: "Frank, sports", state: "revoked" })
      const lasts = (state.invitations[0]?.expiresAtMillis ?? 0) - (state.invitations[0]?.createdAtMillis ?? 0)
      expect(Math.round(lasts / 3_600_000)).toBe(24)
    }))

  it.scoped("changes the signup policy, and shows the steps for a homeserver of one's own", () =>
    Effect.gen(function*() {
      const state = ordinaryState()
      state.signup = { ...state.signup, homeserver: "own", steps: "enable_registration: true\n  # then restart" }
      const { act, origin } = yield* openSignedIn(state)
      yield* act(async (page) => {
        await page.goto(`${origin}/invitations`)
        await page.getByText("enable_registration: true").waitFor()
        await page.getByLabel("Open", { exact: true }).check({ force: true })
        await page.getByRole("button", { name: "Change the policy" }).click()
        await page.getByText("The signup policy is changed").waitFor()
        await page.getByRole("button", { name: "Change the policy" }).waitFor({ state: "detached" })
        await page.getByRole("button", { name: "Invite somebody" }).click()
        await page.getByRole("dialog").getByText("nobody needs an invitation").waitFor()
      })
      expect(state.signup.policy).toBe("open")
    }))

  it.scoped("adds a person, changes roles and standing, and tells what stands against it in the dialog", () =>
    Effect.gen(function*() {
      const state = ordinaryState()
      const { act, origin } = yield* openSignedIn(state)
      yield* act(async (page) => {
        const choose = async (user: string, item: string) => {
          await page.getByRole("button", { name: `What to do with ${user}`, exact: true }).click()
          await page.getByRole("menuitem", { name: item }).click()
        }
        await page.goto(`${origin}/people`)
        await page.getByRole("button", { name: "Add somebody" }).click()
        const dialog = page.getByRole("dialog", { name: "Make somebody known" })
        // One complaint at a time.
        await page.getByLabel("Matrix ID").fill("gus")
        await page.getByRole("button", { name: "Add", exact: true }).click()
        await dialog.getByRole("alert").filter({ hasText: "known already" }).waitFor()
        await page.getByLabel("Matrix ID").fill("bad name!!")
        await page.getByRole("button", { name: "Add", exact: true }).click()
        await dialog.getByText("A full Matrix ID looks like").waitFor()
        expect(await dialog.getByRole("alert").count()).toBe(0)
        await page.getByLabel("Matrix ID").fill("frank")
        await page.getByRole("button", { name: "Add", exact: true }).click()
        await page.getByText("@frank:example.org is known now, and can sign in once the homeserver has that account")
          .waitFor()
        const people = page.getByRole("list", { name: "People" })
        await people.getByText("@frank:example.org").waitFor()
        const told = async (user: string) => await people.getByRole("listitem").filter({ hasText: user }).innerText()
        expect(await people.getByRole("listitem").first().innerText()).toContain("added by the operator")
        expect(await told("@gus:example.org")).toContain("came by signing in")
        expect(await told("@frank:example.org")).toContain("added by @alice:example.org")

        await choose(bob, "Make administrator")
        await page.getByRole("button", { name: "Make administrator" }).click()
        await page.getByText(`${bob} is an administrator now`).waitFor()
        await choose(bob, "Deactivate")
        await page.getByRole("button", { name: "Deactivate", exact: true }).click()
        await page.getByText(`${bob} is deactivated`).waitFor()
        // A slash in a user ID stays within its place in the address.
        await choose("@carol/editorial:example.org", "Reactivate")
        await page.getByRole("button", { name: "Reactivate", exact: true }).click()
        await page.getByText("@carol/editorial:example.org is active again").waitFor()

        await choose("@alice:example.org", "Make member")
        await page.getByRole("dialog").getByText("That is you").waitFor()
        await page.getByRole("button", { name: "Make member" }).click()
        await page.getByRole("dialog").getByRole("alert").filter({ hasText: "only administrator" }).waitFor()
        await page.keyboard.press("Escape")
        await page.getByRole("dialog").waitFor({ state: "detached" })
      })
      expect(state.people.map(({ active, role, userId }) => `${userId} ${role} ${active}`)).toEqual([
        "@alice:example.org administrator true",
        "@gus:example.org member true",
        "@bob:example.org administrator false",
        "@carol/editorial:example.org member true",
        "@frank:example.org member true"
      ])
    }))

  it.scoped("shows members what is theirs, and the refusal of the rest", () =>
    Effect.gen(function*() {
      const state = ordinaryState()
      state.role = "member"
      const { act, origin } = yield* openSignedIn(state)
      yield* act(async (page) => {
        await page.goto(`${origin}/people`)
        const refusal = page.getByRole("alert").filter({ hasText: "This is for administrators" })
        await refusal.waitFor()
        expect(await refusal.getByRole("button").count()).toBe(0)
        await page.getByText("You are signed in as @alice:example.org").waitFor()
        const pages = page.getByRole("navigation", { name: "Pages" })
        expect(await pages.getByRole("link").allInnerTexts()).not.toContain("People")
        await page.goto(`${origin}/invitations`)
        await page.getByText("Administrators invite").waitFor()
        expect(await page.getByRole("radio").count()).toBe(0)
      })
    }))

  it.scoped("ends other sessions one by one, all at once, and this one", () =>
    Effect.gen(function*() {
      const state = ordinaryState()
      const { act, origin } = yield* openSignedIn(state)
      yield* act(async (page) => {
        await page.goto(`${origin}/sessions`)
        await page.getByText("Chromium on Linux").waitFor()
        const rows = page.getByRole("list", { name: "Sessions" }).getByRole("listitem")
        await rows.filter({ hasText: "Chrome on Android" }).getByRole("button", { name: "End" }).click()
        await page.getByRole("button", { name: "End session" }).click()
        await rows.filter({ hasText: "Chrome on Android" }).waitFor({ state: "detached" })
        await page.getByRole("button", { name: "End all others" }).click()
        await page.getByRole("dialog").getByRole("button", { name: "End all others" }).click()
        await page.getByText("You are signed in nowhere else").waitFor()
        await rows.first().getByRole("button", { name: "End" }).click()
        await page.getByRole("dialog").getByText("You are signed out here at once").waitFor()
        await page.getByRole("button", { name: "End session" }).click()
        await page.getByRole("heading", { name: "Sign in" }).waitFor()
      })
      expect(state.sessions).toEqual([])
    }))
})
