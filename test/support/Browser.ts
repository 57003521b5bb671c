// The one place that finds and drives a real browser in tests: one process a scope, one context a person.
import { Effect, type Scope } from "effect"
import { accessSync, constants } from "node:fs"
import { delimiter, join } from "node:path"
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core"
import { hostEnvironment } from "../../src/programs/HostEnvironment.ts"

const names = ["chromium", "chromium-browser", "google-chrome"]

const runs = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const folders = ["/usr/bin", ...(hostEnvironment["PATH"] ?? "").split(delimiter)].filter((folder) => folder !== "")
const candidates = [
  ...(hostEnvironment["CHROMIUM"] === undefined ? [] : [hostEnvironment["CHROMIUM"]]),
  ...names.flatMap((name) => folders.map((folder) => join(folder, name)))
]

export const browserPath: string | null = candidates.find(runs) ?? null

/** Without a browser these tests are skipped, and say why; the project's own check must have one. */
export const noBrowser: string | null = browserPath !== null
  ? null
  : "no Chromium was found: install chromium, or set CHROMIUM to its path"

export const skipsBrowser = noBrowser !== null && hostEnvironment["CI"] === undefined

const flags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync"
]

const actionMillis = 10_000

export const launch: Effect.Effect<Browser, never, Scope.Scope> = Effect.acquireRelease(
  Effect.suspend(() =>
    browserPath === null
      ? Effect.dieMessage(noBrowser ?? "no browser")
      : Effect.promise(() => chromium.launch({ executablePath: browserPath, args: flags, timeout: 30_000 }))
  ),
  (browser) => Effect.promise(() => browser.close())
)

export interface Visitor {
  readonly context: BrowserContext
  readonly page: Page
  /** What the page's policy refused, and what the page itself failed at. */
  readonly violations: Array<string>
}

/** A browser of its own, with nothing kept from another. */
export const visit = (
  browser: Browser,
  options: BrowserContextOptions = {}
): Effect.Effect<Visitor, never, Scope.Scope> =>
  Effect.gen(function*() {
    const context = yield* Effect.acquireRelease(
      Effect.promise(() => browser.newContext({ viewport: { width: 1280, height: 860 }, ...options })),
      (context) => Effect.promise(() => context.close())
    )
    context.setDefaultTimeout(actionMillis)
    const violations: Array<string> = []
    context.on("weberror", (error) => void violations.push(`page error: ${error.error().message}`))
    context.on("console", (message) => {
      const text = message.text()
      if (/content security policy|violates/iu.test(text)) violations.push(text)
    })
    context.on("dialog", (dialog) => {
      violations.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    const page = yield* Effect.promise(() => context.newPage())
    return { context, page, violations }
  })
