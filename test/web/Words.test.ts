// Words that the pages make out of what they got: a browser's name, an invited person's text.
import { expect, it } from "@effect/vitest"
import { browserName } from "../../src/web/BrowserName.ts"
import { handOverText, isLoopback, isPlainHttp } from "../../src/web/HandOver.ts"

it("names the browsers that it knows, and no other", () => {
  for (
    const [described, name] of [
      ["Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0", "Firefox on Linux"],
      [
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/156.0.0.0 Safari/537.36",
        "Chromium on Linux"
      ],
      [
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36 Edg/156.0.0.0",
        "Edge on Windows"
      ],
      [
        "Mozilla/5.0 (Linux; Android 16; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Mobile Safari/537.36",
        "Chromium on Android"
      ],
      [
        "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1",
        "Safari on iOS"
      ],
      [
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Safari/605.1.15",
        "Safari on macOS"
      ],
      ["curl/8.5.0", null],
      ["Firefox on Linux", null],
      ["", null]
    ] as const
  ) expect([described, browserName(described)]).toEqual([described, name])
})

it("tells an invited person every step up to the sign-in, and knows addresses that reach nobody elsewhere", () => {
  const text = handOverText({
    crossfireUrl: "https://crossfire.example.org/sign-in",
    elementUrl: null,
    homeserverUrl: "https://matrix.example.org",
    token: "TOKEN",
    untilMillis: 1_796_000_000_000
  })
  for (
    const part of ["until Nov 30, 2026", "1. Open Element.", "https://matrix.example.org", "TOKEN", "own no agent"]
  ) {
    expect(text).toContain(part)
  }
  expect(text.endsWith("https://crossfire.example.org/sign-in")).toBe(true)
  for (const near of ["http://127.0.0.1:8008", "http://localhost", "https://x.localhost/", "http://[::1]:80"]) {
    expect([near, isLoopback(near)]).toEqual([near, true])
  }
  for (const far of ["https://127.example.org", "https://localhost.example.org", "http://10.0.0.1", "nonsense"]) {
    expect([far, isLoopback(far)]).toEqual([far, false])
  }
  expect(["http://10.0.0.1", "https://10.0.0.1", "nonsense"].map(isPlainHttp)).toEqual([true, false, false])
})
