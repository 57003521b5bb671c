// The web pages in a real browser over the stand-in: one browser a file, one site and one visitor a test.
import { describe, expect, layer, type Vitest } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import type { Browser, BrowserContext, BrowserContextOptions, Page } from "playwright-core"
import { sessionCookie } from "../../src/domain/Session.ts"
import { launch, noBrowser, skipsBrowser, visit, type Visitor } from "../support/Browser.ts"
import { serve, type StandInState } from "../support/WebStandIn.ts"

export class TestBrowser extends Context.Tag("crossfire/test/web/Site/TestBrowser")<TestBrowser, Browser>() {}

const started = Layer.scoped(TestBrowser, launch)

/** Skipped with the reason where there is no browser. */
export const inBrowser = (
  name: string,
  tests: (it: Vitest.MethodsNonLive<TestBrowser, true>) => void
) =>
  describe.skipIf(skipsBrowser)(noBrowser === null ? name : `${name} (${noBrowser})`, () => {
    layer(started, { excludeTestServices: true, timeout: "60 seconds" })(tests)
  })

/** What a person does in the page; the page's policy was broken by nothing of it. */
const acting = ({ page, violations }: Visitor) => <A>(work: (page: Page) => Promise<A>) =>
  Effect.promise(async () => {
    const done = await work(page)
    expect(violations).toEqual([])
    return done
  })

export const open = (state: StandInState, options: BrowserContextOptions = {}) =>
  Effect.gen(function*() {
    const site = yield* serve(state)
    const visitor = yield* visit(yield* TestBrowser, options)
    return { ...site, ...visitor, act: acting(visitor) }
  })

/** The debugger takes such a cookie for an encrypted address alone; the browser then sends it to its own machine, too. */
export const giveCookie = (context: BrowserContext, name: string, value: string) =>
  context.addCookies([{ name, value, url: "https://127.0.0.1", secure: true, httpOnly: true, sameSite: "Strict" }])

/** As `open`, with a session. */
export const openSignedIn = (state: StandInState, options: BrowserContextOptions = {}) =>
  Effect.gen(function*() {
    const site = yield* open(state, options)
    const value = "a-session"
    state.cookies.add(value)
    yield* Effect.promise(() => giveCookie(site.context, sessionCookie, value))
    return site
  })

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

interface Finding {
  readonly id: string
  readonly impact: string | null
  readonly nodes: ReadonlyArray<{ readonly target: ReadonlyArray<string>; readonly failureSummary?: string }>
}

/** What axe finds in the page as it stands, each with where. */
export const axe = async (page: Page): Promise<ReadonlyArray<string>> => {
  await page.evaluate(axeSource)
  const findings = await page.evaluate<ReadonlyArray<Finding>>(
    "axe.run(document, { resultTypes: [\"violations\"] }).then(({ violations }) => violations)"
  )
  // A menu that is open over the page stands in no landmark, as menus do.
  const ofMenus = ({ id, nodes }: Finding) =>
    id === "region" && nodes.every(({ target }) => target.join(" ").includes("Menu-item"))
  return findings.filter((finding) => !ofMenus(finding)).map(({ id, impact, nodes }) =>
    `${impact} ${id}: ${nodes.map((node) => `${node.target.join(" ")} ${node.failureSummary ?? ""}`).join("; ")}`
  )
}

/** By how many pixels the page is wider than the window. */
export const overflow = (page: Page): Promise<number> =>
  page.evaluate<number>("document.documentElement.scrollWidth - document.documentElement.clientWidth")

/** The accessible name of what has the focus, or its text. */
export const focused = (page: Page): Promise<string> =>
  page.evaluate<string>(
    "(() => { const at = document.activeElement; return at.getAttribute('aria-label') ?? at.labels?.[0]?.innerText ?? at.innerText ?? at.tagName })()"
  )
