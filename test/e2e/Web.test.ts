// The web pages on real parts: Synapse, the bot's link, an enrollment by the real `fleet`, an invitation that opens a real
// account, and two browsers.
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import { describe, expect, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type { Browser } from "playwright-core"
import { textOf } from "../../src/programs/demo/Person.ts"
import { signInPath } from "../../src/services/WebAddress.ts"
import { launch, noBrowser, skipsBrowser, visit } from "../support/Browser.ts"
import { make, rosterHead, section } from "./AnotherFleet.ts"
import { fleet, type RunningStage, SharedStage } from "./SharedStage.ts"
import * as Shared from "./SharedStage.ts"

const linkOf = (text: string): string | null => /https?:\/\/\S+\/sign-in\/link#[\w-]{43}/u.exec(text)?.[0] ?? null

/** A browser of its own in which alice has signed in by the link that the bot sent her. */
const signedIn = (stage: RunningStage, browser: Browser, known: Set<string>) =>
  Effect.gen(function*() {
    const visitor = yield* visit(browser)
    yield* Effect.promise(async () => {
      await visitor.page.goto(`${stage.address}/sessions`)
      await visitor.page.getByLabel("Your Matrix ID").fill(stage.alice.userId)
      await visitor.page.getByRole("button", { name: "Send me a link" }).click()
      await visitor.page.getByRole("heading", { name: "Look into your chat" }).waitFor()
    })
    const message = yield* stage.alice.waitFor(
      "the bot's link",
      (seen) => {
        const link = linkOf(textOf(seen))
        return link !== null && !known.has(link)
      },
      "60 seconds"
    )
    const link = linkOf(textOf(message)) ?? ""
    known.add(link)
    expect(new URL(link).pathname).toBe(signInPath)
    yield* Effect.promise(async () => {
      await visitor.page.goto(link)
      await visitor.page.getByRole("button", { name: "Sign in" }).click()
      await visitor.page.getByRole("heading", { name: "Sessions" }).waitFor()
    })
    return { ...visitor, link }
  })

const Enrolled = Schema.parseJson(Schema.Struct({ code: Schema.String }))
const Challenge = Schema.Struct({ session: Schema.String })
const Registered = Schema.Struct({ user_id: Schema.String })

/** As Element does it: asks what is needed, then gives the token and the password. */
const register = (homeserver: string, name: string, token: string) =>
  Effect.gen(function*() {
    const http = yield* HttpClient.HttpClient
    const ask = (auth?: Readonly<Record<string, string>>) =>
      Effect.scoped(
        HttpClientRequest.post(`${homeserver}/_matrix/client/v3/register`).pipe(
          HttpClientRequest.bodyUnsafeJson({ username: name, password: `${name}-and-a-long-password`, auth }),
          http.execute,
          Effect.flatMap((response) => response.json)
        )
      )
    const { session } = yield* Schema.decodeUnknown(Challenge)(yield* ask())
    yield* ask({ type: "m.login.registration_token", token, session })
    return (yield* Schema.decodeUnknown(Registered)(yield* ask({ type: "m.login.dummy", session }))).user_id
  })

describe.skipIf(skipsBrowser)(
  noBrowser === null ? "the web pages on real parts" : `the web pages (${noBrowser})`,
  () => {
    layer(Shared.layer, { excludeTestServices: true, timeout: "240 seconds" })((it) => {
      it.scoped(
        "signs in by link, approves an enrollment, invites a person, revokes a session",
        () =>
          Effect.gen(function*() {
            const stage = yield* SharedStage
            const browser = yield* launch
            const known = new Set<string>()
            const { link, page, violations } = yield* signedIn(stage, browser, known)

            // The link was good once.
            yield* Effect.promise(async () => {
              const again = await page.context().newPage()
              await again.goto(link)
              await again.getByRole("button", { name: "Sign in" }).click()
              await again.getByRole("alert").filter({ hasText: /used already|only in the browser/u }).waitFor()
              await again.close()
            })

            yield* Effect.promise(async () => {
              await page.goto(stage.address)
              for (const { name, userId } of stage.agents) {
                await page.getByRole("listitem").filter({ hasText: userId }).getByText(name, { exact: true }).waitFor()
              }
              await page.getByRole("region", { name: "demo" }).getByText("Running").waitFor()
              await page.getByRole("link", { name: "Requests" }).click()
              await page.getByRole("heading", { name: "No request waits" }).waitFor()
            })
            const another = yield* make(stage, "by-web")
            another.write(rosterHead("by-web", stage.alice.userId) + section(another.workFolder, "webster", "codex"))
            const filed = yield* another.enroll("--json")
            const { code } = yield* Schema.decodeUnknown(Enrolled)(filed.stdout)
            yield* Effect.promise(async () => {
              // It comes by itself: nobody loads the page again.
              await page.getByRole("list", { name: "Requests" }).getByText("by-web").click()
              await page.getByRole("heading", { name: "webster" }).waitFor()
              expect(await page.getByText(another.workFolder).isVisible()).toBe(true)
              await page.getByLabel("The code").fill("0000-0000")
              await page.getByRole("button", { name: "Approve" }).click()
              await page.getByRole("alert").filter({ hasText: "not the code" }).waitFor()
              await page.getByLabel("The code").fill(code)
              await page.getByRole("button", { name: "Approve" }).click()
              await page.getByRole("heading", { name: "Approved" }).waitFor()
            })
            const introduced = yield* fleet("enroll", another.roster, "--server", stage.address, "--root", another.root)
            expect(introduced.code).toBe(0)
            yield* Effect.promise(async () => {
              await page.getByRole("heading", { name: "Taken in" }).waitFor()
              await page.getByRole("link", { name: "Go to the fleets" }).click()
              await page.getByRole("region", { name: "by-web" }).getByText("webster", { exact: true }).waitFor()
              await page.getByRole("region", { name: "by-web" }).getByText("Not running").waitFor()
            })

            const token = yield* Effect.promise(async () => {
              await page.getByRole("link", { name: "Invitations" }).click()
              await page.getByRole("button", { name: "Invite somebody" }).click()
              await page.getByLabel("Who is it for?").fill("Dora")
              await page.getByRole("button", { name: "Make an invitation" }).click()
              const dialog = page.getByRole("dialog", { name: "Hand this over" })
              const lines = (await dialog.getByRole("region", { name: "For the invited person" }).innerText())
                .split("\n").map((line) => line.trim())
              const after = (start: string) => lines[lines.findIndex((line) => line.startsWith(start)) + 1]
              expect(after("2. ")).toBe(stage.homeserver)
              expect(after("5. ")).toMatch(/\/sign-in$/u)
              const shown = after("4. ")
              await dialog.getByRole("button", { name: "I have it" }).click()
              return shown ?? ""
            })
            const dora = yield* register(stage.homeserver, "dora", token)
            yield* Effect.promise(async () => {
              await page.reload()
              await page.getByRole("listitem").filter({ hasText: "Dora" }).getByText("Used").waitFor()
              await page.getByRole("link", { name: "People" }).click()
              await page.getByRole("list", { name: "People" }).getByText(stage.alice.userId).first().waitFor()
            })
            expect(dora).toBe(stage.alice.userId.replace("alice", "dora"))

            const second = yield* signedIn(stage, browser, known)
            yield* Effect.promise(async () => {
              await page.getByRole("link", { name: "Sessions" }).click()
              const rows = page.getByRole("list", { name: "Sessions" }).getByRole("listitem")
              await rows.nth(1).getByRole("button", { name: "End" }).click()
              await page.getByRole("button", { name: "End session" }).click()
              // The other browser's open page learns of it at once.
              await second.page.getByRole("heading", { name: "Sign in" }).waitFor()
              await rows.nth(1).waitFor({ state: "detached" })
            })
            expect([...violations, ...second.violations]).toEqual([])
          }),
        240_000
      )
    })
  }
)
