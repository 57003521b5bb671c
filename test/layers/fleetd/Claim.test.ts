import { expect, it } from "@effect/vitest"
import { Effect, Option, Redacted, Schema } from "effect"
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { make } from "../../../src/layers/fleetd/Claim.ts"
import { newMaterial } from "../../../src/layers/fleetd/ClaimMaking.ts"
import { ClaimMaterial } from "../../../src/services/Claim.ts"
import { scratchFolder } from "../../support/FleetFile.ts"
import { bob, entry, roster } from "../crossfire/enrollment/EnrollmentFixture.ts"

const url = "https://crossfire.test"
const mine = roster([entry("w", "writer"), entry("c", "critic")])
/** Everything in plain text: redacted values all compare as equal. */
const plain = (of: ClaimMaterial) => Schema.encodeSync(ClaimMaterial)(of)
const plainly = Option.map(plain)

const after = (before: ClaimMaterial) => ({ before: Option.some(before), held: Option.none(), renew: false })
const material = newMaterial(mine, url, { before: Option.none(), held: Option.none(), renew: false })

it.scopedLive("[I-06] a claim is on disk, private and whole, when saving returns; a second process gets the first one's", () =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    const claim = make(folder)
    expect(yield* claim.load).toStrictEqual(Option.none())
    const first = yield* material
    expect(plain(yield* claim.saveFirst(first))).toStrictEqual(plain(first))
    expect(statSync(join(folder, "claim.json")).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder)).toStrictEqual(["claim.json"])
    const second = yield* material
    expect(plain(second)).not.toStrictEqual(plain(first))
    expect(plain(yield* make(folder).saveFirst(second))).toStrictEqual(plain(first))
    expect(plainly(yield* make(folder).load)).toStrictEqual(Option.some(plain(first)))
    yield* claim.replace(second)
    expect(plainly(yield* make(folder).load)).toStrictEqual(Option.some(plain(second)))
    expect(readdirSync(folder)).toStrictEqual(["claim.json"])
  }))

it.scopedLive("[I-06] many that save at once all end with the same claim", () =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    const saved = yield* Effect.forEach(
      Array.from({ length: 8 }),
      () => Effect.flatMap(material, make(folder).saveFirst),
      { concurrency: "unbounded" }
    )
    expect(new Set(saved.map((one) => Redacted.value(one.claim))).size).toBe(1)
    expect(saved.map(plain)).toContainEqual(Option.getOrThrow(plainly(yield* make(folder).load)))
    expect(readdirSync(folder)).toStrictEqual(["claim.json"])
  }))

it.scopedLive("[I-06] what a crash left beside the claim is never read, and is cleared when it is old", () =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    const [old, fresh] = [".claim.json.old.tmp", ".claim.json.fresh.tmp"].map((name) => join(folder, name))
    if (old === undefined || fresh === undefined) throw new Error("two names")
    writeFileSync(old, "{\"format\":1,")
    writeFileSync(fresh, "{\"format\":1,")
    utimesSync(old, 0, 0)
    const claim = make(folder)
    expect(yield* claim.load).toStrictEqual(Option.none())
    const saved = yield* Effect.flatMap(material, claim.saveFirst)
    expect(readdirSync(folder).toSorted()).toStrictEqual([".claim.json.fresh.tmp", "claim.json"])
    expect(plainly(yield* claim.load)).toStrictEqual(Option.some(plain(saved)))
  }))

it.scopedLive("a claim that cannot be trusted is refused by path and reason, without its content, and never replaced", () =>
  Effect.gen(function*() {
    const folder = yield* scratchFolder
    const path = join(folder, "claim.json")
    const claim = make(folder)
    const saved = yield* Effect.flatMap(material, claim.saveFirst)
    const problem = Effect.map(Effect.flip(claim.load), ({ message, problem }) => {
      expect(message).toContain(path)
      expect(message).not.toContain("secret")
      return problem
    })
    const text = readFileSync(path, "utf8")
    for (const mode of [0o640, 0o604, 0o620]) {
      chmodSync(path, mode)
      expect(yield* problem).toBe("not-private")
    }
    chmodSync(path, 0o600)
    for (
      const broken of [
        "",
        "secret",
        text.slice(0, -10),
        text.replace("\"format\":1", "\"format\":2"),
        "{\"claim\":\"secret\"}"
      ]
    ) {
      writeFileSync(path, broken)
      expect(yield* problem).toBe("malformed")
      expect(yield* Effect.flip(claim.saveFirst(saved))).toMatchObject({ problem: "malformed" })
      expect(readFileSync(path, "utf8")).toBe(broken)
    }
    linkSync(path, join(folder, "elsewhere"))
    rmSync(path)
    symlinkSync(join(folder, "elsewhere"), path)
    expect(yield* problem).toBe("not-a-file")
    rmSync(path)
    mkdirSync(path)
    expect(yield* problem).toBe("not-a-file")
  }))

it.scopedLive("a folder that cannot be written leaves nothing behind and says so", () =>
  Effect.gen(function*() {
    const folder = join(yield* scratchFolder, "gone")
    const failed = yield* Effect.flip(Effect.flatMap(material, make(folder).saveFirst))
    expect(failed.message).toBe(
      `${join(folder, "claim.json")}: it could not be saved, so nothing was sent (the system says ENOENT)`
    )
  }))

it.effect("a new claim keeps the credentials of the same fleet at the same crossfire, and of no other", () =>
  Effect.gen(function*() {
    const first = yield* material
    const values = (of: typeof first) => of.agentTokens.map(({ token }) => Redacted.value(token))
    const larger = roster([entry("n", "novice"), ...mine.agents])
    const added = yield* newMaterial(larger, url, after(first))
    expect(plain(added).claim).not.toBe(plain(first).claim)
    expect(plain(added).fleetToken).toBe(plain(first).fleetToken)
    expect(values(added).slice(1)).toStrictEqual(values(first))
    expect(added.agentTokens.map(({ key }) => key)).toStrictEqual(["n", "w", "c"])
    const others = [
      yield* newMaterial(mine, "https://other.test", after(first)),
      yield* newMaterial(roster(mine.agents, bob), url, after(first)),
      yield* newMaterial(roster(mine.agents, mine.owner, "other"), url, after(first))
    ]
    const all = [first, added, ...others]
    expect(new Set(all.map(({ claim }) => Redacted.value(claim))).size).toBe(all.length)
    for (const other of others) {
      expect(plain(other).fleetToken).not.toBe(plain(first).fleetToken)
      expect(values(other).some((token) => values(first).includes(token))).toBe(false)
    }
    for (const token of values(added)) expect(token).toMatch(/^cfa_[A-Za-z0-9_-]{43}$/u)
    expect(Redacted.value(first.fleetToken)).toMatch(/^cff_[A-Za-z0-9_-]{43}$/u)
    expect(String(first)).not.toContain(Redacted.value(first.claim))
  }))
