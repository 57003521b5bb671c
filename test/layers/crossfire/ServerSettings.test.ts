import { expect, it } from "@effect/vitest"
import { doubts } from "../../../src/layers/crossfire/ServerSettings.ts"

it("a public address without its proxy's is doubted: everybody would share one address", () => {
  const behindProxy = { port: 8740, public_url: "https://crossfire.example.org", trusted_proxies: [] }
  expect(doubts({ http: behindProxy })).toStrictEqual([expect.stringContaining("http.trusted_proxies")])
  expect(doubts({ http: { ...behindProxy, trusted_proxies: ["127.0.0.1"] } })).toStrictEqual([])
  expect(doubts({ http: { port: 8740, trusted_proxies: [] } })).toStrictEqual([])
  expect(doubts({ http: { port: 8740, public_url: "http://127.0.0.1:9000", trusted_proxies: [] } })).toStrictEqual([])
})
