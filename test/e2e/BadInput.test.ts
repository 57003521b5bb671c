// What people get wrong, with the real programs: each mistake is told with its place and the next step, and leaves nothing
// half-done. What is wrong with machines and folders stands in BadStart.
import { expect, layer as withLayer } from "@effect/vitest"
import { Effect, Schedule, Schema } from "effect"
import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type RoomId, UserId } from "../../src/domain/Ids.ts"
import { passwordPath } from "../../src/layers/crossfire/people/PersonAccount.ts"
import { type Person, signIn, textOf } from "../../src/programs/demo/Person.ts"
import { approve, chatWith } from "../../src/programs/demo/Stage.ts"
import * as AnotherFleet from "./AnotherFleet.ts"
import { crossfire, fleet, layer, SharedStage } from "./SharedStage.ts"

const bot = UserId.make("@cf-bot:localhost")
const alice = "@alice:localhost"

const readFiled = Schema.decodeUnknownSync(
  Schema.parseJson(Schema.Struct({ state: Schema.String, code: Schema.String }))
)

/** Writes to the bot and answers what the bot says to it. */
const ask = (person: Person, chat: RoomId, text: string) =>
  Effect.gen(function*() {
    const before = new Set((yield* person.events).map(({ event }) => event.event_id))
    yield* person.send(chat, text)
    const answer = yield* person.waitFor(
      `the answer to "${text}"`,
      (seen) =>
        seen.roomId === chat && seen.event.sender === bot && textOf(seen) !== "" && !before.has(seen.event.event_id),
      "30 seconds"
    )
    return textOf(answer)
  })

withLayer(layer, { timeout: "240 seconds", excludeTestServices: true })("on a running stage", (it) => {
  it.scoped(
    "[P-04] a roster that cannot be used is told with line and field, and nothing of it is filed",
    () =>
      Effect.gen(function*() {
        const stage = yield* SharedStage
        const before = AnotherFleet.knownTo(stage)
        const other = yield* AnotherFleet.make(stage, "unread")
        const { roster, workFolder } = other
        const head = AnotherFleet.rosterHead("unread", alice)
        const agent = (more: Readonly<Record<string, string>>) =>
          head + AnotherFleet.section(workFolder, "ant", "codex", more)
        const wrong: ReadonlyArray<readonly [text: string | null, ...told: ReadonlyArray<string>]> = [
          [null, `${roster}: cannot be read: it does not exist`],
          [`${head}agents = [1,\n`, `${roster}:`, "is no TOML"],
          [`fleet = "unread"\nowner = \n`, `${roster}:2: is no TOML at column 9`],
          [
            agent({ modle: "\"x\"" }),
            `${roster}:10: agent 1 (ant), modle: there is no such field; did you mean "model"?`
          ],
          [agent({ model: "5" }), `${roster}:8: agent 1 (ant), model: must be a text in quotes, not a number`],
          [
            agent({ engine: "\"claude\"" }),
            `${roster}:7: agent 1 (ant), engine: claude is not supported`,
            "codex and pi"
          ],
          [agent({ engine: "\"gemini\"" }), "gemini is not supported; the engines are codex and pi"],
          [
            agent({ work_folder: "\"/no/such/place\"" }),
            `${roster}:9:`,
            "/no/such/place cannot be used: it does not exist"
          ]
        ]
        for (const [text, ...told] of wrong) {
          if (text === null) rmSync(roster, { force: true })
          else other.write(text)
          const refused = yield* other.enroll()
          expect([refused.code, refused.stdout]).toStrictEqual([4, ""])
          for (const part of told) expect(refused.stderr).toContain(part)
          expect(other.hasClaim()).toBe(false)
        }
        expect(AnotherFleet.knownTo(stage)).toStrictEqual(before)
        const unenrolled = yield* fleet("up", "--root", other.root)
        expect(unenrolled.code).toBe(4)
        expect(unenrolled.stderr).toContain(`fleet enroll ROSTER --server URL --root ${other.root}`)
      }),
    180_000
  )

  it.scoped(
    "[P-05] a model or effort that the real engine does not offer is refused with what it offers, and nothing is filed",
    () =>
      Effect.gen(function*() {
        const stage = yield* SharedStage
        const before = AnotherFleet.knownTo(stage)
        const other = yield* AnotherFleet.make(stage, "models")
        const { roster, workFolder } = other
        const two = (codex: Readonly<Record<string, string>>, pi: Readonly<Record<string, string>>) =>
          AnotherFleet.rosterHead("models", alice) + AnotherFleet.section(workFolder, "ant", "codex", codex) +
          AnotherFleet.section(workFolder, "bee", "pi", pi)
        other.write(two({ model: "\"gpt-0\"" }, { model: "\"scripted/none\"" }))
        const models = yield* other.enroll()
        expect(models.code).toBe(4)
        expect(models.stderr).toContain(
          `${roster}:8: agent 1 (ant), model: codex does not offer the model "gpt-0". Offered: scripted-1\n`
        )
        expect(models.stderr).toContain(
          `${roster}:15: agent 2 (bee), model: pi does not offer the model "scripted/none". Offered: scripted/scripted-1\n`
        )
        other.write(two({ effort: "\"extreme\"" }, { effort: "\"off\"" }))
        const efforts = yield* other.enroll()
        expect(efforts.code).toBe(4)
        expect(efforts.stderr).toContain("codex does not offer the effort \"extreme\". Offered: low, medium, high\n")
        expect(efforts.stderr).toContain("pi does not offer the effort \"off\". Offered: low, medium, high\n")
        expect(other.hasClaim()).toBe(false)
        expect(AnotherFleet.knownTo(stage)).toStrictEqual(before)
      }),
    180_000
  )

  it.scoped(
    "[I-04] [I-05] a second fleet with a taken name or one that looks like it claims nothing; renamed, it goes on",
    () =>
      Effect.gen(function*() {
        const stage = yield* SharedStage
        const before = AnotherFleet.knownTo(stage)
        const other = yield* AnotherFleet.make(stage, "taken")
        const roster = (...names: ReadonlyArray<string>) =>
          AnotherFleet.rosterHead("taken", alice) +
          names.map((name) => AnotherFleet.section(other.workFolder, name, "codex")).join("")
        other.write(roster("ant", "scribe", "sc0ut"))
        const refused = yield* other.enroll()
        expect([refused.code, refused.stdout]).toStrictEqual([4, ""])
        expect(refused.stderr).toContain("nothing was claimed")
        expect(refused.stderr).toContain("key-of-scribe: the name \"scribe\" is taken\n")
        expect(refused.stderr).toContain(
          "key-of-sc0ut: the name \"sc0ut\" could be taken for \"scout\", which exists\n"
        )
        expect(refused.stderr).toContain("Change the roster")
        expect(refused.stderr).not.toContain("key-of-ant")
        expect(other.hasClaim()).toBe(false)
        expect(AnotherFleet.knownTo(stage)).toStrictEqual(before)

        other.write(roster("ant", "bee"))
        const filed = yield* other.enroll("--json")
        expect(filed.code).toBe(0)
        expect(readFiled(filed.stdout).state).toBe("pending")
        expect(AnotherFleet.knownTo(stage)).toStrictEqual({
          ...before,
          enrollments: [...before.enrollments, "taken pending"].toSorted()
        })
      }),
    180_000
  )

  it.scoped(
    "[I-05] two approved fleets want one name: the later one claims nothing, not even its free names, and says how to go on",
    () =>
      Effect.gen(function*() {
        const stage = yield* SharedStage
        const before = AnotherFleet.knownTo(stage)
        const made = ["first", "later"].map((name) =>
          Effect.gen(function*() {
            const other = yield* AnotherFleet.make(stage, name)
            const write = (...names: ReadonlyArray<string>) =>
              other.write(
                AnotherFleet.rosterHead(name, alice) +
                  names.map((agent) => AnotherFleet.section(other.workFolder, agent, "codex")).join("")
              )
            write("wasp", `free-of-${name}`)
            const filed = yield* other.enroll("--json")
            expect(filed.code).toBe(0)
            yield* approve(stage.alice, bot, readFiled(filed.stdout).code)
            yield* Effect.sync(() => AnotherFleet.knownTo(stage).enrollments).pipe(
              Effect.repeat({
                until: (states) => states.includes(`${name} approved`),
                schedule: Schedule.spaced("200 millis")
              }),
              Effect.timeout("20 seconds")
            )
            return { ...other, write }
          })
        )
        const [first, later] = yield* Effect.all(made)
        if (first === undefined || later === undefined) return
        expect((yield* first.enroll()).code).toBe(0)
        const refused = yield* later.enroll()
        expect([refused.code, refused.stdout]).toStrictEqual([4, ""])
        expect(refused.stderr).toContain("nothing was claimed:\n  key-of-wasp: the name \"wasp\" is taken\n")
        const known = AnotherFleet.knownTo(stage)
        expect(known.fleets).toStrictEqual([...before.fleets, "first"].toSorted())
        expect(known.agents).toStrictEqual([...before.agents, "free-of-first", "wasp"].toSorted())
        expect((yield* fleet("up", "--root", later.root)).stderr).toContain("No fleet is enrolled")

        later.write("hornet", "free-of-later")
        const changed = yield* later.enroll()
        expect(changed.code).toBe(4)
        expect(changed.stderr).toContain("add --again")
        const anew = yield* later.enroll("--again", "--json")
        expect([anew.code, readFiled(anew.stdout).state]).toStrictEqual([0, "pending"])
      }),
    180_000
  )

  it.scoped(
    "[I-03] [I-08] a code is good for its owner alone: another person finds nothing, an administrator can only reject",
    () =>
      Effect.gen(function*() {
        const stage = yield* SharedStage
        const before = AnotherFleet.knownTo(stage)
        const added = yield* crossfire("person", "add", "bob", "--data", stage.dataFolder)
        expect([added.code, added.stderr]).toStrictEqual([0, ""])
        const passwordFile = passwordPath(stage.dataFolder, "bob")
        expect(added.stdout).toContain(passwordFile)
        const password = readFileSync(passwordFile, "utf8").trim()
        expect(added.stdout).not.toContain(password)
        const bob = yield* signIn(stage.homeserver, "bob", password)
        const file = (name: string, owner: string) =>
          Effect.gen(function*() {
            const other = yield* AnotherFleet.make(stage, name)
            other.write(
              AnotherFleet.rosterHead(name, owner) + AnotherFleet.section(other.workFolder, `only-${name}`, "codex")
            )
            const filed = yield* other.enroll("--json")
            expect(filed.code).toBe(0)
            return { ...other, code: readFiled(filed.stdout).code }
          })
        const alices = yield* file("alices", alice)
        const bobs = yield* file("bobs", bob.userId)
        const [alicesChat, bobsChat] = yield* Effect.all([chatWith(stage.alice, bot), chatWith(bob, bot)])
        const states = () => AnotherFleet.knownTo(stage).enrollments.filter((line) => /^(?:alices|bobs) /u.test(line))

        for (const text of [alices.code, `confirm ${alices.code}`, `reject ${alices.code}`]) {
          const answer = yield* ask(bob, bobsChat, text)
          expect(answer).toContain("no open request with this code")
          expect(answer).not.toContain("only-alices")
        }
        // alice is an administrator of this instance.
        expect(yield* ask(stage.alice, alicesChat, `confirm ${bobs.code}`)).toContain("no open request with this code")
        expect(states()).toStrictEqual(["alices pending", "bobs pending"])
        expect(yield* ask(stage.alice, alicesChat, "pending")).toContain(bobs.code)
        expect(yield* ask(stage.alice, alicesChat, `reject ${bobs.code}`)).toContain(`Rejected ${bobs.code}`)

        const refused = yield* bobs.enroll()
        expect([refused.code, refused.stdout]).toStrictEqual([4, ""])
        expect(refused.stderr).toContain("The request was rejected")
        expect(refused.stderr).toContain("--again")
        expect(states()).toStrictEqual(["alices pending", "bobs rejected"])
        const known = AnotherFleet.knownTo(stage)
        expect([known.fleets, known.agents]).toStrictEqual([before.fleets, before.agents])
      }),
    180_000
  )

  it.scoped(
    "a damaged crossfire.toml is told by every command with line and field, never with the value",
    () =>
      Effect.gen(function*() {
        const { folder } = yield* SharedStage
        const data = join(folder, "damaged")
        const made = yield* crossfire("init", "--admin", "ann", "--data", data)
        expect(made.code).toBe(0)
        expect(made.stdout).toContain(`crossfire serve --data ${data}`)
        const path = join(data, "crossfire.toml")
        writeFileSync(
          path,
          "server_name = \"localhost\"\n\n[http]\nport = \"secret-value\"\n\n[homeserver]\nmode = \"managed\"\nprot = 8008\n"
        )
        for (const command of [["serve"], ["person", "add", "ann"]]) {
          const wrong = yield* crossfire(...command, "--data", data)
          expect([wrong.code, wrong.stdout]).toStrictEqual([1, ""])
          expect(wrong.stderr).toContain(`${path}, line 4: http.port`)
          expect(wrong.stderr).toContain(`${path}, line 8: homeserver.prot is unknown`)
          expect(wrong.stderr).not.toContain("secret-value")
        }
        writeFileSync(path, "server_name = \"localhost\"\n[http\nport = 8740\n")
        const broken = yield* crossfire("serve", "--data", data)
        expect(broken.code).toBe(1)
        expect(broken.stderr).toMatch(/crossfire\.toml, line [23]: it is not valid TOML/u)
      }),
    180_000
  )
})
