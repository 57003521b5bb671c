import { expect, it } from "@effect/vitest"
import { Console, Context, Effect, Layer, Option, Redacted } from "effect"
import { generatedPassword, personAdd, type PersonAddOptions } from "../../../src/programs/crossfire/PersonAdd.ts"
import { HomeserverUnavailable } from "../../../src/services/Matrix.ts"
import { People } from "../../../src/services/People.ts"
import { AccountExists, PersonAccounts } from "../../../src/services/PersonAccounts.ts"
import { scratch, start } from "../../layers/crossfire/enrollment/EnrollmentFixture.ts"

/** The homeserver's accounts in memory, and what stands on the terminal. */
const running = Effect.gen(function*() {
  const crossfire = yield* start(yield* scratch)
  const accounts = new Map<string, string>()
  const printed: Array<string> = []
  let down = false
  const console: Console.Console = {
    ...(yield* Effect.console),
    log: (...values) => Effect.sync(() => void printed.push(values.join(" ")))
  }
  const create: typeof PersonAccounts.Service.create = (localpart, password) =>
    Effect.suspend((): ReturnType<typeof PersonAccounts.Service.create> => {
      if (down) return Effect.fail(new HomeserverUnavailable({ operation: "make an account", status: null }))
      if (accounts.has(localpart)) return Effect.fail(new AccountExists({ localpart }))
      accounts.set(localpart, Redacted.value(password))
      return Effect.void
    })
  const run = (name: string, options: Partial<PersonAddOptions> = {}) =>
    personAdd({ name, serverName: "test", administrator: false, password: Option.none(), ...options }).pipe(
      Effect.withConsole(console),
      Effect.provide(Layer.merge(
        Layer.succeed(PersonAccounts, PersonAccounts.of({ create })),
        Layer.succeed(People, Context.get(crossfire.context, People))
      ))
    )
  const role = (name: string) =>
    Effect.map(
      crossfire.rows<{ readonly role: string }>(`SELECT role FROM person WHERE user_id = '@${name}:test'`),
      ([row]) => row?.role
    )
  return { accounts, printed, run, role, setDown: (is: boolean) => Effect.sync(() => void (down = is)) }
})

it.scoped("a person gets an account with a password shown once, and is known by the role that was asked for", () =>
  Effect.gen(function*() {
    const { accounts, printed, role, run } = yield* running
    expect(yield* run("dora")).toStrictEqual({ userId: "@dora:test", account: "made" })
    const password = accounts.get("dora") ?? ""
    expect(password).toMatch(/^[A-Za-z0-9_-]{20}$/u)
    expect(printed.filter((line) => line.includes(password))).toHaveLength(1)
    expect(yield* role("dora")).toBe("member")
    yield* run("eve", { administrator: true })
    expect(yield* role("eve")).toBe("administrator")
    expect(accounts.get("eve")).not.toBe(password)
    yield* run("fay", { password: Option.some(Redacted.make("a typed password")) })
    expect(accounts.get("fay")).toBe("a typed password")
    expect(printed.join()).not.toContain("a typed password")
  }))

it.scoped("whatever fails, the same command again completes it; nobody loses a role or a password by it", () =>
  Effect.gen(function*() {
    const { accounts, role, run, setDown } = yield* running
    yield* setDown(true)
    expect(yield* Effect.flip(run("dora"))).toBeInstanceOf(HomeserverUnavailable)
    expect(yield* role("dora")).toBeUndefined()
    yield* setDown(false)
    // An account without a person: as after a crash between the two.
    accounts.set("dora", "known")
    expect(yield* run("dora", { administrator: true })).toMatchObject({ account: "existing" })
    expect(yield* role("dora")).toBe("administrator")
    yield* run("dora")
    expect(yield* role("dora")).toBe("administrator")
    expect(accounts.get("dora")).toBe("known")
  }))

it.scoped("a name that is no local part is refused before anything is made", () =>
  Effect.gen(function*() {
    const { accounts, printed, run } = yield* running
    for (const name of ["", "a b", "a\u0000"]) {
      expect(yield* Effect.flip(run(name))).toMatchObject({ _tag: "AccountNameInvalid" })
    }
    expect(accounts.size).toBe(0)
    expect(printed).toStrictEqual([])
  }))

it.effect("generated passwords differ", () =>
  Effect.gen(function*() {
    const made = yield* Effect.replicateEffect(generatedPassword, 50)
    expect(new Set(made.map(Redacted.value)).size).toBe(50)
  }))
