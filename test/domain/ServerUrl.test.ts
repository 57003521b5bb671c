import { expect, it } from "@effect/vitest"
import { Either } from "effect"
import { checkServerUrl } from "../../src/domain/ServerUrl.ts"

it("an address is https, or plain http on this machine itself", () => {
  const taken = {
    "https://crossfire.example.org": "https://crossfire.example.org",
    " https://Crossfire.Example.org/sub/ ": "https://crossfire.example.org/sub",
    "http://127.0.0.1:8008/": "http://127.0.0.1:8008",
    "http://127.1:80": "http://127.0.0.1",
    "http://[::1]:8008": "http://[::1]:8008",
    "http://localhost:8008": "http://localhost:8008"
  }
  for (const [text, base] of Object.entries(taken)) expect(checkServerUrl(text)).toStrictEqual(Either.right(base))

  const refused = {
    "": "malformed",
    "crossfire.example.org": "malformed",
    "ftp://crossfire.example.org": "scheme",
    "file:///etc/passwd": "scheme",
    "https://alice:secret@crossfire.example.org": "credentials",
    "https://crossfire.example.org/?token=secret": "query",
    "https://crossfire.example.org/#secret": "query",
    "http://crossfire.example.org": "plain-http",
    "http://127.0.0.1.example.org": "plain-http",
    "http://localhost.example.org": "plain-http",
    "http://192.168.1.5": "plain-http",
    "http://0.0.0.0:80": "plain-http",
    "http://[::ffff:10.0.0.1]": "plain-http"
  }
  for (const [text, reason] of Object.entries(refused)) {
    const problem = Either.flip(checkServerUrl(text))
    expect(Either.isRight(problem) && problem.right.reason).toBe(reason)
    expect(Either.isRight(problem) && problem.right.message).not.toContain("secret")
  }
})
