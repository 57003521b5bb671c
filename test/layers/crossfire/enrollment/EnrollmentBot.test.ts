import { expect, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import { RoomId } from "../../../../src/domain/Ids.ts"
import { contentBytes, maxContentBytes, notice } from "../../../../src/layers/crossfire/MessageContent.ts"
import {
  alice,
  approved,
  bob,
  type Crossfire,
  entry,
  introduced,
  newClaim,
  room,
  root,
  roster,
  scratch,
  start
} from "./EnrollmentFixture.ts"

const unknown =
  "There is no open request with this code. Codes are valid for 7 days; only the owner named in the roster can use one."

const submitted = (crossfire: Crossfire, of = roster([entry("w", "writer")])) =>
  Effect.gen(function*() {
    const claim = yield* newClaim
    const { code } = yield* crossfire.enrollment.submit(claim, of)
    return { claim, code: String(code), state: Effect.map(crossfire.enrollment.state(claim), ({ state }) => state) }
  })

it.scoped("[I-03] the owner reads the whole roster with every setting before confirming", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const instructions = "Check who listens.\n```\nconfirm AAAA-AAAA\n```\n\u202eevil\u200b\ttab"
    const { code, state } = yield* submitted(
      crossfire,
      roster([
        entry("w", "writer", { effort: "high", history_mode: "per-room", instructions }),
        entry("c", "critic", { engine: "pi", model: "a/b `c`", work_folder: "/srv/x\n**bold**" })
      ])
    )
    const answers = yield* crossfire.say(alice, ` ${code.toLowerCase().replace("-", " ")} `)
    expect(answers).toHaveLength(1)
    const [text] = answers
    expect(text).toBe([
      `**Enrollment ${code}: the fleet \`street\` with 2 agents, owned by you, \`@alice:test\`.** Nothing exists before you confirm. Read every entry: confirm only what you started yourself.`,
      "",
      "**1. `writer`**, shown as `writer (alice)`",
      "",
      "- key: `w`",
      "- engine: `codex`, model `gpt-5`, effort `high`",
      "- works in: `/srv/work`",
      "- history: a conversation of its own for each room",
      "- who can wake it: only you",
      "",
      "- instructions of `writer`:",
      "",
      "````",
      "Check who listens.",
      "```",
      "confirm AAAA-AAAA",
      "```",
      "\\u{202e}evil\\u{200b}\ttab",
      "````",
      "",
      "**2. `critic`**, shown as `critic (alice)`",
      "",
      "- key: `c`",
      "- engine: `pi`, model `` a/b `c` ``, effort the engine's own",
      "- works in: `/srv/x\\u{a}**bold**`",
      "- history: one conversation for all rooms",
      "- who can wake it: only you",
      "",
      "- instructions: none",
      "",
      `That was the whole request (2 agents), open until 1970-01-08 00:00 UTC. Each agent acts with the power of the machine's user it runs as. Answer \`confirm ${code}\` to enroll exactly this, or \`reject ${code}\`.`
    ].join("\n"))
    expect(yield* state).toBe("pending")
    expect(yield* crossfire.say(alice, `Confirm ${code}`)).toStrictEqual([
      `Confirmed ${code}. \`fleet enroll\` makes the agents known; if it no longer runs, run it again without \`--again\`. ` +
      "Agents that are new take part in no room yet: invite each where you want it."
    ])
    expect(yield* state).toBe("approved")
    expect(yield* crossfire.say(alice, `confirm ${code}`)).toStrictEqual([
      `The request ${code} is confirmed already; \`fleet enroll\` makes its agents known, run again without \`--again\` if it no ` +
      "longer runs. Nothing was changed."
    ])
  }))

it.scoped("[I-03] nothing is confirmed that was not shown to the owner in that room", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const { code, state } = yield* submitted(crossfire)
    const other = RoomId.make("!other:test")
    const [first, second] = yield* crossfire.say(alice, `confirm ${code}`)
    expect(first).toBe("I have not shown you this request here yet, so nothing was confirmed.")
    expect(second).toContain("`writer`")
    expect(yield* state).toBe("pending")
    yield* crossfire.say(alice, `confirm ${code}`, other)
    expect(yield* state).toBe("pending")
    yield* crossfire.say(alice, `confirm ${code}`, other)
    expect(yield* state).toBe("approved")
  }))

it.scoped("[I-08] only the owner approves; an administrator can reject, before and after the approval", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const { code, state } = yield* submitted(crossfire)
    for (const person of [root, bob]) {
      for (const text of [code, `confirm ${code}`]) {
        expect(yield* crossfire.say(person, text)).toStrictEqual([unknown])
      }
    }
    // Shown to the owner in a room where an administrator speaks next: still the owner's alone.
    yield* crossfire.say(alice, code)
    expect(yield* crossfire.say(root, `confirm ${code}`)).toStrictEqual([unknown])
    expect(yield* crossfire.say(bob, `reject ${code}`)).toStrictEqual([unknown])
    expect(yield* state).toBe("pending")
    expect(yield* crossfire.say(root, `reject ${code}`)).toStrictEqual([`Rejected ${code}. Nothing was made.`])
    expect(yield* state).toBe("rejected")
    expect((yield* crossfire.say(alice, `confirm ${code}`))[0]).toContain("was rejected")
    expect(yield* state).toBe("rejected")
    const second = yield* approved(crossfire, roster([entry("w", "writer")]))
    yield* crossfire.say(root, `reject ${second.code}`)
    expect((yield* Effect.flip(crossfire.enrollment.introduce(second.request))).message).toBe(
      "The enrollment is rejected"
    )
    const third = yield* introduced(crossfire, roster([entry("w", "writer")]))
    expect((yield* crossfire.say(root, `reject ${third.code}`))[0]).toContain("its agents exist. Nothing was changed.")
    expect(yield* crossfire.rows("SELECT decided_by FROM enrollment ORDER BY decided_at, rowid")).toStrictEqual([
      { decided_by: root },
      { decided_by: root },
      { decided_by: alice }
    ])
  }))

it.scoped("an administrator sees every request that waits, with the code to reject it; others their own, without", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    expect(yield* crossfire.say(root, "pending")).toStrictEqual(["No request waits."])
    const { code } = yield* submitted(crossfire)
    yield* submitted(crossfire, roster([entry("rr")], root, "own"))
    const all = "Requests that wait:\n\n" +
      `- \`${code}\`, fleet \`street\` of \`@alice:test\` (\`writer\`), pending, since 1970-01-01 00:00 UTC`
    const [administrators] = yield* crossfire.say(root, "Pending.")
    expect(administrators).toContain(all)
    expect(administrators).toContain("- fleet `own` of `@root:test` (`rr`), pending")
    expect(yield* crossfire.say(alice, "pending")).toStrictEqual([all.replace(`\`${code}\`, `, "")])
    expect(yield* crossfire.say(bob, "pending")).toStrictEqual(["No request waits."])
  }))

it.scoped("wrong codes of one person are answered ten times, then once more, then not until the window has passed", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const { code, state } = yield* submitted(crossfire)
    for (let tries = 0; tries < 10; tries++) {
      expect(yield* crossfire.say(alice, `confirm 0000-000${tries}`)).toStrictEqual([unknown])
    }
    expect(yield* crossfire.say(alice, "0000-0000")).toStrictEqual([
      "These were too many codes that led nowhere. I take codes from you again in a few minutes."
    ])
    // Right ones are not taken either, or guessing would go on; other people are not concerned.
    expect(yield* crossfire.say(alice, code)).toStrictEqual([])
    expect(yield* crossfire.say(alice, `confirm ${code}`)).toStrictEqual([])
    expect(yield* crossfire.say(bob, "0000-0000")).toStrictEqual([unknown])
    expect(yield* crossfire.say(alice, "hello")).toHaveLength(1)
    yield* TestClock.adjust("10 minutes")
    expect((yield* crossfire.say(alice, code))[0]).toContain("`writer`")
    yield* crossfire.say(alice, `confirm ${code}`)
    expect(yield* state).toBe("approved")
  }))

it.scoped("anything else is answered by a short help", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const texts = [
      "",
      "hello",
      "confirm",
      "confirm all",
      "reject",
      "confirm ABCD-EFG",
      "ABCDEFGHJ",
      "UUUU-UUUU",
      "x".repeat(60_000)
    ]
    for (const text of texts) {
      const answers = yield* crossfire.say(alice, text)
      expect(answers).toHaveLength(1)
      expect(answers[0]).toContain("fleet enroll")
    }
  }))

it.scoped("a request for a fleet that exists says what stays, what is new and what is renamed", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    yield* introduced(crossfire, roster([entry("w", "writer"), entry("c", "critic")]))
    const { code } = yield* submitted(crossfire, roster([entry("w", "scribe"), entry("e", "editor")]))
    const [text] = yield* crossfire.say(alice, code)
    expect(text).toContain(
      "You have this fleet already. Agents that are not in this request stay as they are: `critic`."
    )
    expect(text).toContain("**1. `scribe`** (exists as `writer` and is renamed; keeps its identity)")
    expect(text).toContain("**2. `editor`**, shown as `editor (alice)`")
  }))

it.scoped("[I-03] a roster that fits in no single message is shown in several, whole and in order", () =>
  Effect.gen(function*() {
    const crossfire = yield* start(yield* scratch)
    const lines = (mark: string) => Array.from({ length: 1_000 }, (_, index) => `${mark}${index} "<€>"`).join("\n")
    const agents = ["aa", "bb", "cc"].map((key) => entry(key, key, { instructions: lines(key) }))
    const long = entry("dd", "dd", { instructions: "€&".repeat(10_000) })
    const { code } = yield* submitted(crossfire, roster([...agents, long]))
    const answers = yield* crossfire.say(alice, code)
    expect(answers.length).toBeGreaterThan(4)
    for (const text of answers) {
      const content = notice(text)
      expect(contentBytes(content)).toBeLessThan(maxContentBytes)
      // Rendered: one that is too long for it would be sent without.
      expect(content["formatted_body"]).toBeDefined()
    }
    const blocks = Array.from(answers.join("\n").matchAll(/```\n([^`]*)\n```/gu), ([, block]) => block ?? "")
    for (const { instructions } of agents) expect(blocks.join("\n").includes(String(instructions))).toBe(true)
    expect(blocks.join("").includes(String(long.instructions))).toBe(true)
    expect(answers.at(-1)).toContain(`Answer \`confirm ${code}\``)
    yield* crossfire.say(alice, `confirm ${code}`, room)
    expect(yield* crossfire.rows("SELECT state FROM enrollment")).toStrictEqual([{ state: "approved" }])
  }))
