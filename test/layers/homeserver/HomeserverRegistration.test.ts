import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { readFileSync, statSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import {
  check,
  make,
  PushUnreachable,
  ServerNameDiffers,
  steps
} from "../../../src/layers/homeserver/HomeserverRegistration.ts"
import { prepare, start } from "../../../src/layers/homeserver/ManagedSynapse.ts"
import { type Registration, writeRegistration } from "../../../src/layers/homeserver/Registration.ts"
import { temporaryFolder, testConfig } from "./TestSynapse.ts"

const registration: Registration = {
  serverName: "example.org",
  serviceId: "crossfire",
  url: "http://127.0.0.1:9009",
  asToken: Redacted.make("as-secret"),
  hsToken: Redacted.make("hs-secret")
}

it.scopedLive(
  "the registration file is private and complete, and the steps tell everything but the tokens",
  () =>
    Effect.gen(function*() {
      const path = join(yield* temporaryFolder, "private", "crossfire.yaml")
      yield* writeRegistration(path, registration)
      yield* writeRegistration(path, registration)
      expect(statSync(path).mode & 0o777).toBe(0o600)
      const text = readFileSync(path, "utf8")
      for (const part of ["as-secret", "hs-secret", "^@cf-[0-9a-z-]+:example\\\\.org$", `"exclusive": true`]) {
        expect(text).toContain(part)
      }
      const told = steps(path, registration)
      expect(told).toContain(path)
      expect(told).toContain("app_service_config_files")
      expect(told).toContain("http://127.0.0.1:9009")
      expect(told).not.toContain("-secret")
    }),
  60_000
)

it.scopedLive(
  "the start's checks name what is missing: token, name, service, connection, answer",
  () =>
    Effect.gen(function*() {
      let status = 200
      const crossfire = yield* Effect.acquireRelease(
        Effect.async<ReturnType<typeof createServer>>((resume) => {
          const server = createServer((request, response) => {
            request.resume()
            response.writeHead(status, { "content-type": "application/json" }).end("{}")
          })
          server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.sync(() => server.closeAllConnections())
      )
      const address = crossfire.address()
      const pushUrl = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
      const prepared = yield* prepare(testConfig(yield* temporaryFolder, pushUrl))
      const { access } = prepared
      const failing = (changed: Partial<typeof access>) => Effect.flip(check({ ...access, ...changed }, pushUrl))

      expect(yield* failing({})).toMatchObject({ _tag: "HomeserverUnavailable" })
      yield* start(prepared)
      const own = yield* make(access)
      yield* own.ready
      expect(yield* own.pid).toBeNull()

      yield* check(access, pushUrl)
      yield* check(access, pushUrl)
      const unknown = yield* failing({ asToken: Redacted.make("another") })
      expect(unknown).toMatchObject({ _tag: "RegistrationUnknown" })
      expect(unknown.message).toContain("app_service_config_files")
      expect(yield* failing({ serverName: "other.test" })).toStrictEqual(
        new ServerNameDiffers({ baseUrl: access.baseUrl, wanted: "other.test", found: "cf.test" })
      )
      const unreachable = (reason: PushUnreachable["reason"]) => new PushUnreachable({ url: pushUrl, reason })
      expect(yield* failing({ serviceId: "other" })).toStrictEqual(unreachable("other-service"))
      status = 403
      expect(yield* failing({})).toStrictEqual(unreachable("refused"))
      crossfire.close()
      crossfire.closeAllConnections()
      expect(yield* failing({})).toStrictEqual(unreachable("no-connection"))
    }),
  60_000
)
