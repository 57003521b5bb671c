// The overview of fleets and agents: what it shows, and what an owner does there.
import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { emptyState, ordinaryState } from "../support/WebState.ts"
import { focused, inBrowser, openSignedIn } from "./Site.ts"

inBrowser("fleets", (it) => {
  it.scoped("shows every agent with its Matrix ID, how to invite it, and how it stands", () =>
    Effect.gen(function*() {
      const state = ordinaryState()
      const { act, origin } = yield* openSignedIn(state)
      yield* act(async (page) => {
        await page.goto(origin)
        const street = page.getByRole("region", { name: "fleet-street" })
        await street.getByText("studio, process 41207").waitFor()
        for (const agent of state.fleets[0]?.agents.filter(({ standing }) => standing === "active") ?? []) {
          const row = street.getByRole("listitem").filter({ hasText: agent.userId })
          expect(await row.getByText(agent.name, { exact: true }).isVisible()).toBe(true)
          expect(await row.getByRole("link").getAttribute("href"))
            .toBe(`https://matrix.to/#/${encodeURIComponent(agent.userId)}`)
        }
        expect(await street.getByText("Credential revoked").count()).toBe(1)
        // Whether the fleet stopped one of its agents is the fleet's to know.
        expect(await street.getByText("Its fleet runs").count()).toBe(3)
        expect(await page.getByRole("region", { name: "workshop" }).getByText("Not running").isVisible()).toBe(true)
        expect(await page.getByRole("region", { name: "bobs-lab" }).getByText("@bob:example.org").isVisible()).toBe(
          true
        )
        await page.getByLabel("Find an agent").fill("scr")
        await page.getByText("1 of 8 agents").waitFor()
        expect(await page.getByRole("region", { name: "fleet-street" }).count()).toBe(0)
      })
    }))

  it.scoped("renames by keyboard alone: the problem stays in the dialog, and the focus comes back", () =>
    Effect.gen(function*() {
      const state = ordinaryState()
      const { act, origin } = yield* openSignedIn(state)
      yield* act(async (page) => {
        await page.goto(origin)
        await page.getByRole("button", { name: "What to do with reporter" }).focus()
        await page.keyboard.press("Enter")
        await page.locator("[role=menuitem]:focus").filter({ hasText: "Rename" }).waitFor()
        await page.keyboard.press("Enter")
        const dialog = page.getByRole("dialog", { name: "Rename reporter" })
        await dialog.waitFor()
        await page.locator("input:focus").waitFor()
        await page.keyboard.press("Control+A")
        await page.keyboard.type("Not a name")
        await page.keyboard.press("Enter")
        await dialog.getByText("a name takes 2 to 32 lower-case letters").waitFor()
        await page.keyboard.press("Control+A")
        await page.keyboard.type("pr0ofreader")
        await page.keyboard.press("Enter")
        await dialog.getByRole("alert").filter({ hasText: "looks too much like \"proofreader\"" }).waitFor()
        // The focus stays inside.
        for (let press = 0; press < 6; press++) {
          await page.keyboard.press("Tab")
          expect(await page.evaluate("document.activeElement.closest('[role=dialog]') !== null")).toBe(true)
        }
        await page.getByRole("textbox", { name: "Name" }).focus()
        await page.keyboard.press("Control+A")
        await page.keyboard.type("correspondent")
        await page.keyboard.press("Enter")
        await dialog.waitFor({ state: "detached" })
        await page.getByRole("button", { name: "What to do with correspondent" }).waitFor()
        expect(await focused(page)).toBe("What to do with correspondent")
        await page.getByText("reporter is now correspondent").waitFor()
      })
    }))

  it.scoped("saves permissions, revokes a credential, retires after the name was typed", () =>
    Effect.gen(function*() {
      const state = ordinaryState()
      const { act, origin } = yield* openSignedIn(state)
      const reporter = () => state.fleets[0]?.agents.find(({ key }) => key === "reporter")
      yield* act(async (page) => {
        const choose = async (item: string) => {
          await page.getByRole("button", { name: "What to do with reporter" }).click()
          await page.getByRole("menuitem", { name: item }).click()
        }
        await page.goto(origin)
        await choose("Permissions")
        await page.getByLabel("May invite other agents").check({ force: true })
        await page.getByRole("button", { name: "Save" }).click()
        await page.getByText("The permissions of reporter are saved").waitFor()
        expect(reporter()?.mayInviteAgents).toBe(true)

        await choose("Revoke credential")
        await page.getByRole("button", { name: "Revoke", exact: true }).click()
        await page.getByText("The credential of reporter is revoked").waitFor()
        expect(reporter()?.credential).toBe("revoked")

        await choose("Retire")
        await page.getByRole("button", { name: "Retire", exact: true }).click()
        await page.getByText("Type reporter to confirm").nth(1).waitFor()
        expect(await page.getByRole("dialog").innerText()).toContain(
          "the entry with the key reporter: delete it there too"
        )
        expect(reporter()?.standing).toBe("active")
        await page.getByLabel("Type reporter to confirm").fill("reporter")
        await page.getByRole("button", { name: "Retire", exact: true }).click()
        await page.getByText("reporter is retired").waitFor()
        expect(reporter()?.standing).toBe("retired")
        await page.getByText("2 retired").click()
        await page.getByRole("list", { name: "Retired agents of fleet-street" }).getByText("shown as reporter")
          .waitFor()

        await page.getByRole("button", { name: "More about the fleet workshop" }).click()
        await page.getByRole("menuitem", { name: "Revoke all credentials" }).click()
        expect(await page.getByRole("dialog").innerText())
          .toContain("fleet down, then fleet enroll ROSTER --again --new-credentials")
        await page.getByRole("button", { name: "Revoke all", exact: true }).click()
        const workshop = page.getByRole("region", { name: "workshop" })
        await workshop.getByText("Credentials revoked").waitFor()
        await workshop.getByText("fleet enroll ROSTER --again --new-credentials").waitFor()
      })
    }))

  it.scoped("tells a newcomer on every page what to do", () =>
    Effect.gen(function*() {
      const { act, origin } = yield* openSignedIn(emptyState())
      yield* act(async (page) => {
        await page.goto(origin)
        await page.getByRole("heading", { name: "No fleet yet" }).waitFor()
        expect(await page.getByText(`fleet enroll roster.toml --server ${origin}`).isVisible()).toBe(true)
        expect(await page.getByText("owner = \"@alice:example.org\"").isVisible()).toBe(true)
        await page.getByRole("link", { name: "Requests" }).click()
        await page.getByRole("heading", { name: "No request waits" }).waitFor()
        await page.getByRole("link", { name: "Invitations" }).click()
        await page.getByRole("heading", { name: "No invitations yet" }).waitFor()
        await page.getByRole("link", { name: "People" }).click()
        await page.getByRole("heading", { name: "Nobody else yet" }).waitFor()
        await page.getByRole("link", { name: "Sessions" }).click()
        await page.getByText("You are signed in nowhere else").waitFor()
        await page.goto(`${origin}/requests/not-an-id`)
        await page.getByRole("heading", { name: "Nothing is here" }).waitFor()
      })
    }))
})
