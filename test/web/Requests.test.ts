// Enrollment requests: the whole roster before the eyes, the decision by code, and nothing decided by an address.
import { expect } from "@effect/vitest"
import { Effect } from "effect"
import { goodCode } from "../support/WebStandIn.ts"
import { bob, entry, ordinaryState, request } from "../support/WebState.ts"
import { focused, inBrowser, openSignedIn } from "./Site.ts"

inBrowser("requests", (it) => {
  it.scoped("shows everything that a request asks for, and approves it by keyboard alone", () =>
    Effect.gen(function*() {
      const state = ordinaryState()
      const { act, origin } = yield* openSignedIn(state)
      yield* act(async (page) => {
        await page.goto(`${origin}/requests`)
        const rows = page.getByRole("list", { name: "Requests" })
        await rows.getByRole("link").first().waitFor()
        await page.locator("body").press("Tab")
        expect(await focused(page)).toBe("Skip to the page")
        await page.keyboard.press("Enter")
        await page.keyboard.press("Tab")
        expect(await focused(page)).toContain("fleet-street")
        await page.keyboard.press("Enter")
        await page.getByRole("heading", { name: "Enrollment request" }).waitFor()
        await page.getByRole("heading", { name: "Your decision" }).waitFor()
        expect(await focused(page)).toBe("Enrollment request")

        const text = await page.locator("main").innerText()
        for (const agent of state.requests[0]?.roster.agents ?? []) {
          for (
            const value of [agent.name, agent.key, agent.model, agent.work_folder, agent.effort ?? "the engine’s own"]
          ) {
            expect(text).toContain(value)
          }
          for (const line of (agent.instructions ?? "none").split("\n")) expect(text).toContain(line)
        }
        for (
          const warning of [
            "credentials of the former one end",
            "left as they are: proofreader",
            "writer renames the agent that is now called reporter",
            "archivist works in a folder that holds much more",
            "a conversation of its own for each room"
          ]
        ) expect(text).toContain(warning)

        while (await focused(page) !== "The code") await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await page.getByText("Type the code that").waitFor()
        await page.keyboard.type("0000-0000")
        await page.keyboard.press("Enter")
        await page.getByRole("alert").filter({ hasText: "not the code that" }).waitFor()
        expect(state.changed).toEqual([])
        expect(await focused(page)).toBe("The code")
        await page.keyboard.press("Control+A")
        await page.keyboard.type(goodCode.toLowerCase())
        await page.keyboard.press("Enter")
        await page.getByRole("heading", { name: "Approved" }).waitFor()
        expect(state.changed).toEqual(["requests.approved"])
      })
    }))

  it.scoped("[A17] fills in and decides nothing, whatever the address says", () =>
    Effect.gen(function*() {
      const state = ordinaryState()
      const { act, context, origin } = yield* openSignedIn(state)
      const id = state.requests[0]?.enrollmentId ?? ""
      const sent: Array<string> = []
      context.on("request", (one) => void sent.push(one.method()))
      yield* act(async (page) => {
        for (
          const trap of [
            `?choice=approve&code=${goodCode}`,
            `?decision=reject#approve`,
            `#code=${goodCode}`,
            "?confirm=1"
          ]
        ) {
          await page.goto(`${origin}/requests/${id}${trap}`)
          await page.getByRole("heading", { name: "Your decision" }).waitFor()
          expect(await page.getByLabel("The code").inputValue()).toBe("")
          expect(await page.getByRole("dialog").count()).toBe(0)
        }
      })
      expect(state.changed).toEqual([])
      expect(new Set(sent)).toEqual(new Set(["GET"]))
    }))

  it.scoped("lets an administrator reject somebody else's request, and approve none", () =>
    Effect.gen(function*() {
      const state = ordinaryState()
      const { act, origin } = yield* openSignedIn(state)
      yield* act(async (page) => {
        await page.goto(`${origin}/requests/${state.requests[1]?.enrollmentId ?? ""}`)
        await page.getByText("can approve this request").waitFor()
        expect(await page.getByLabel("The code").count()).toBe(0)
        expect(await page.getByRole("button", { name: /Approve/u }).count()).toBe(0)
        await page.getByRole("button", { name: "Reject" }).click()
        await page.getByRole("dialog").getByRole("button", { name: "Reject" }).click()
        await page.getByRole("heading", { name: "Rejected" }).waitFor()
      })
      expect(state.changed).toEqual(["requests.rejected"])
    }))

  it.scoped("shows a settled request as it was asked for, and not against what exists by now", () =>
    Effect.gen(function*() {
      const state = ordinaryState()
      const { act, origin, publish } = yield* openSignedIn(state)
      const first = state.requests[0]
      yield* act(async (page) => {
        await page.goto(`${origin}/requests/${first?.enrollmentId ?? ""}`)
        await page.getByRole("heading", { name: "Look twice" }).waitFor()
        await page.getByText("New", { exact: true }).waitFor()
      })
      state.requests = state.requests.map((one) => one === first ? { ...one, state: "introduced" } : one)
      yield* publish("requests")
      yield* act(async (page) => {
        await page.getByRole("heading", { name: "Taken in" }).waitFor()
        const text = await page.locator("main").innerText()
        for (const gone of ["Look twice", "Exists", "New\n", "renames the agent"]) expect(text).not.toContain(gone)
        expect(text).toContain("archivist")
        expect(text).toContain("One that existed before keeps its rooms")
      })
    }))

  it.scoped("says to whoever may not see a request that another account may", () =>
    Effect.gen(function*() {
      const { act, origin } = yield* openSignedIn(ordinaryState())
      yield* act(async (page) => {
        await page.goto(`${origin}/requests/11111111-1111-4111-8111-111111111111`)
        const alert = page.getByRole("alert").filter({ hasText: "There is no such request" })
        await alert.waitFor()
        expect(await alert.getByRole("button").count()).toBe(0)
        await page.getByText("to its owner and to administrators alone. You are signed in as @alice:example.org")
          .waitFor()
      })
    }))

  it.scoped("shows what arrives and what others decide while the page is open", () =>
    Effect.gen(function*() {
      const state = ordinaryState()
      state.requests = []
      const { act, cutStreams, origin, publish } = yield* openSignedIn(state)
      yield* act(async (page) => {
        await page.goto(`${origin}/requests`)
        await page.getByRole("heading", { name: "No request waits" }).waitFor()
      })
      const first = request("night-desk", [entry("owl")], { owner: bob, mayApprove: false })
      state.requests = [first]
      yield* publish("requests")
      yield* act(async (page) => {
        await page.getByText("night-desk").click()
        await page.getByText("can approve this request").waitFor()
      })
      state.requests = [{ ...first, state: "introduced" }]
      yield* publish("requests")
      yield* act((page) => page.getByRole("heading", { name: "Taken in" }).waitFor())

      yield* cutStreams(true)
      yield* act((page) => page.getByText("The connection to crossfire is lost").waitFor())
      state.requests = [{ ...first, state: "expired" }]
      yield* cutStreams(false)
      // What was missed meanwhile is asked for.
      yield* act(async (page) => {
        await page.getByRole("button", { name: "Try now" }).click()
        await page.getByText("The connection to crossfire is lost").waitFor({ state: "detached" })
        await page.getByRole("heading", { name: "Expired" }).waitFor()
      })
    }))
})
