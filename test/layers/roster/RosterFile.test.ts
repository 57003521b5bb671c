import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as FastCheck from "effect/FastCheck"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parse } from "smol-toml"
import { read } from "../../../src/layers/roster/RosterFile.ts"
import { tomlLines } from "../../../src/layers/roster/TomlLines.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => {
    const path = mkdtempSync(join(tmpdir(), "roster-test-"))
    mkdirSync(join(path, "work"))
    mkdirSync(join(path, "home", "desk"), { recursive: true })
    return path
  }),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

const readText = (text: string | Uint8Array) =>
  Effect.gen(function*() {
    const path = yield* folder
    const file = join(path, "roster.toml")
    writeFileSync(file, text)
    return { path, result: yield* Effect.either(read(file, join(path, "home"))) }
  })

/** Each problem as `line|agent|field|text`. */
const problemsOf = (text: string | Uint8Array) =>
  Effect.map(
    readText(text),
    ({ path, result }) =>
      result._tag === "Right" ?
        [] :
        result.left.problems.map(({ agent, field, line, problem }) =>
          [line ?? "-", agent ?? "-", field ?? "-", problem.replaceAll(path, "")].join("|")
        )
  )

const agent = (lines: Readonly<Record<string, string>> = {}) => {
  const fields = {
    key: "\"writer\"",
    name: "\"writer\"",
    engine: "\"codex\"",
    model: "\"gpt-5\"",
    work_folder: "\"work\"",
    ...lines
  }
  return ["[[agent]]", ...Object.entries(fields).map(([name, value]) => `${name} = ${value}`), ""].join("\n")
}

const fleet = "fleet = \"street\"\nowner = \"@alice:test\"\n"

it.scopedLive("a roster is read whole: defaults, paths beside the file, under ~ and absolute, instructions from a file", () =>
  Effect.gen(function*() {
    const { path, result } = yield* readText([
      fleet,
      agent(),
      agent({ key: "\"m\"", name: "\"manager\"", engine: "\"pi\"", effort: "\"high\"", work_folder: "\"~/desk\"" }),
      agent({
        key: "\"c\"",
        name: "\"critic\"",
        work_folder: "'./work/../work'",
        history_mode: "\"shared\"",
        instructions: "\"\"\"\nCheck who listens.\n[[agent]]\nkey = \"x\"\n\"\"\""
      })
    ].join("\n"))
    if (result._tag === "Left") throw result.left
    const base = { engine: "codex", model: "gpt-5", effort: null, history_mode: "shared", instructions: null }
    expect(result.right.roster).toStrictEqual({
      fleet: "street",
      owner: "@alice:test",
      agents: [
        { ...base, key: "writer", name: "writer", work_folder: join(path, "work") },
        {
          ...base,
          key: "m",
          name: "manager",
          engine: "pi",
          effort: "high",
          work_folder: join(path, "home", "desk")
        },
        {
          ...base,
          key: "c",
          name: "critic",
          history_mode: "shared",
          work_folder: join(path, "work"),
          instructions: "Check who listens.\n[[agent]]\nkey = \"x\"\n"
        }
      ]
    })
    // A later check names the same places.
    expect(result.right.problem(2, "model", "no")).toStrictEqual({
      line: 23,
      agent: "agent 3 (critic)",
      field: "model",
      problem: "no"
    })
  }))

it.scopedLive("instructions may stand in a file beside the roster, and not in both places", () =>
  Effect.gen(function*() {
    const path = yield* folder
    const file = join(path, "roster.toml")
    writeFileSync(join(path, "writer.md"), "Write.\n")
    writeFileSync(file, fleet + agent({ instructions_file: "\"writer.md\"" }))
    const found = yield* read(file, path)
    expect(found.roster.agents[0]?.instructions).toBe("Write.\n")
    writeFileSync(join(path, "writer.md"), "x".repeat(20_001))
    const long = yield* Effect.flip(read(file, path))
    expect(long.message).toBe(
      `${file}:9: agent 1 (writer), instructions_file: ${path}/writer.md takes 20000 characters at most; these are 20001`
    )
    writeFileSync(file, fleet + agent({ instructions: "\"a\"", instructions_file: "\"writer.md\"" }))
    expect((yield* Effect.flip(read(file, path))).message).toContain(
      "roster.toml:10: agent 1 (writer), instructions_file: stands beside instructions"
    )
  }))

const corpus: ReadonlyArray<readonly [name: string, text: string, problems: ReadonlyArray<string>]> = [
  ["[P-04] Claude", fleet + agent({ engine: "\"claude\"" }), [
    "6|agent 1 (writer)|engine|claude is not supported; the engines are codex and pi"
  ]],
  ["[P-04] any other engine", fleet + agent({ engine: "\"gemini\"" }), [
    "6|agent 1 (writer)|engine|gemini is not supported; the engines are codex and pi"
  ]],
  ["a syntax error", `${fleet}key = = 3\n`, ["3|-|-|is no TOML at column 7: invalid value"]],
  ["a redefined key", `${fleet}fleet = "b"\n`, [
    "3|-|-|is no TOML at column 1: trying to redefine an already defined table or value"
  ]],
  ["an empty file", "", [
    "-|-|fleet|is missing",
    "-|-|owner|is missing",
    "-|-|agent|names no agent: write a section [[agent]]"
  ]],
  ["a single section", `${fleet}[agent]\nkey = "x"\n`, ["3|-|agent|must be written as sections [[agent]]"]],
  ["agents that are no sections", `${fleet}agent = ["x"]\n`, ["3|agent 1|-|must be written as a section [[agent]]"]],
  ["no agents", `${fleet}agent = []\n`, ["3|-|agent|names no agent"]],
  ["unknown fields, with and without a near one", `flet = "x"\n${fleet}${agent({ modell: "1", "\"wörk\"": "2" })}`, [
    "1|-|flet|there is no such field; did you mean \"fleet\"?",
    "10|agent 1 (writer)|modell|there is no such field; did you mean \"model\"?",
    "11|agent 1 (writer)|\"wörk\"|there is no such field; the fields are key, name, engine, model, effort, work_folder, history_mode, instructions, instructions_file"
  ]],
  ["a field of the wrong section", fleet + agent({ owner: "\"@bob:test\"" }), [
    "9|agent 1 (writer)|owner|there is no such field; the fields are key, name, engine, model, effort, work_folder, history_mode, instructions, instructions_file"
  ]],
  ["dangerous names", `${fleet}__proto__ = 1\nconstructor = 2\n${agent()}`, [
    "3|-|__proto__|there is no such field; the fields are fleet, owner, agent",
    "4|-|constructor|there is no such field; the fields are fleet, owner, agent"
  ]],
  [
    "wrong types, all at once",
    `fleet = 3\nowner = true\n${
      agent({ key: "[1]", name: "{a=1}", engine: "1979-05-27", model: "2.5", work_folder: "\"\"", effort: "\"\"" })
    }`,
    [
      "1|-|fleet|must be a text in quotes, not a number",
      "2|-|owner|must be a text in quotes, not true or false",
      "4|agent 1|key|must be a text in quotes, not a list",
      "5|agent 1|name|must be a text in quotes, not a table",
      "6|agent 1|engine|must be a text in quotes, not a date",
      "7|agent 1|model|must be a text in quotes, not a number",
      "8|agent 1|work_folder|must not be empty",
      "9|agent 1|effort|must not be empty"
    ]
  ],
  ["wrong forms", `fleet = "The Street"\nowner = "alice"\n${agent({ key: "\"a_b\"", history_mode: "\"per room\"" })}`, [
    "1|-|fleet|\"The Street\" does not fit: the fleet key takes 1 to 40 lower-case letters, digits and inner hyphens",
    "2|-|owner|alice does not fit: a full Matrix user ID looks like @alice:example.org",
    "4|agent 1 (writer)|key|a_b does not fit: the instance key takes 1 to 40 lower-case letters, digits and inner hyphens",
    "9|agent 1 (writer)|history_mode|\"per room\" is no history mode; there are shared and per-room"
  ]],
  ["[X-01] separate conversations, which are not built yet", `${fleet}${agent({ history_mode: "\"per-room\"" })}`, [
    "9|agent 1 (writer)|history_mode|is not built yet: leave it out, or say \"shared\""
  ]],
  ["missing fields", `${fleet}[[agent]]\nname = "writer"\n\n[[agent]]\nkey="b"\n`, [
    "3|agent 1 (writer)|key|is missing",
    "3|agent 1 (writer)|engine|is missing",
    "3|agent 1 (writer)|model|is missing",
    "3|agent 1 (writer)|work_folder|is missing",
    "6|agent 2|name|is missing",
    "6|agent 2|engine|is missing",
    "6|agent 2|model|is missing",
    "6|agent 2|work_folder|is missing"
  ]],
  [
    "the same key, name and look-alike",
    [
      fleet,
      agent(),
      agent({ name: "\"critic\"" }),
      agent({ key: "\"b\"" }),
      agent({ key: "\"c\"", name: "\"w-riter\"" })
    ].join("\n"),
    [
      "12|agent 2 (critic)|key|writer stands already in line 5",
      "20|agent 3 (writer)|name|writer stands already in line 6",
      "27|agent 4 (w-riter)|name|w-riter could be taken for writer in line 6"
    ]
  ],
  [
    "folders that cannot be worked in",
    [
      fleet,
      agent({ work_folder: "\"nowhere\"" }),
      agent({ key: "\"b\"", name: "\"bb\"", work_folder: "\"roster.toml\"" }),
      agent({ key: "\"c\"", name: "\"cc\"", work_folder: "\"~root/x\"" })
    ].join("\n"),
    [
      "9|agent 1 (writer)|work_folder|/nowhere cannot be used: it does not exist",
      "16|agent 2 (bb)|work_folder|/roster.toml is no folder",
      "23|agent 3 (cc)|work_folder|/~root/x cannot be used: it does not exist"
    ]
  ],
  ["an instruction file that is not there", fleet + agent({ instructions_file: "\"no.md\"" }), [
    "9|agent 1 (writer)|instructions_file|/no.md cannot be used: it does not exist"
  ]],
  [
    "[A30] names with bidi, homoglyph, invisible and tag characters",
    [
      fleet,
      agent({ name: "\"wri\\u202Eter\"" }),
      agent({ key: "\"b\"", name: "\"writеr\"" }),
      agent({ key: "\"c\"", name: "\"writer\\U000E0041\"", model: "\"gpt\\u200B5\"" })
    ].join("\n"),
    [
      "6|agent 1 (\"wri\\u{202e}ter\")|name|\"wri\\u{202e}ter\" does not fit: a name takes 2 to 32 lower-case letters, digits and inner hyphens, and starts with a letter",
      "13|agent 2 (\"writеr\")|name|\"writеr\" does not fit: a name takes 2 to 32 lower-case letters, digits and inner hyphens, and starts with a letter",
      "20|agent 3 (\"writer\\u{e0041}\")|name|\"writer\\u{e0041}\" does not fit: a name takes 2 to 32 lower-case letters, digits and inner hyphens, and starts with a letter",
      "22|agent 3 (\"writer\\u{e0041}\")|model|\"gpt\\u{200b}5\" holds characters that cannot be seen"
    ]
  ]
]

it.scopedLive.each(corpus)("a bad roster names line and field: %s", ([, text, problems]) =>
  Effect.gen(function*() {
    expect(yield* problemsOf(text)).toStrictEqual(problems)
  }))

it.scopedLive("more than 64 agents are too many, 64 are not", () =>
  Effect.gen(function*() {
    const many = (count: number) =>
      fleet + Array.from({ length: count }, (_, index) =>
        agent({ key: `"k${index}"`, name: `"n${"abcdefgh"[index % 8]}${"abcdefghj"[Math.floor(index / 8)]}"` })).join(
          ""
        )
    expect(yield* problemsOf(many(64))).toStrictEqual([])
    expect(yield* problemsOf(many(65))).toStrictEqual(["3|-|agent|names 65 agents; 64 are allowed"])
  }))

it.scopedLive("an unreadable file is a problem of the file", () =>
  Effect.gen(function*() {
    const path = yield* folder
    const told = (file: string) =>
      Effect.map(Effect.flip(read(file, path)), (error) => error.message.replaceAll(path, ""))
    expect(yield* told(join(path, "none.toml"))).toBe("/none.toml: cannot be read: it does not exist")
    expect(yield* told(path)).toBe(": cannot be read: it is a folder")
    expect(yield* problemsOf(new Uint8Array([0x66, 0xff, 0xfe]))).toStrictEqual([
      "-|-|-|cannot be read: it is not UTF-8 text"
    ])
    expect(yield* problemsOf("#".repeat(1_048_577))).toStrictEqual([
      "-|-|-|cannot be read: it is larger than 1048576 bytes"
    ])
  }))

it("keys are placed behind strings, comments and nested values that look like keys", () => {
  const source = [
    "# model = 1",
    "\"a b\" . c = '''",
    "model = 2",
    "'''  # x",
    "list = [ # [[agent]]",
    "  \"]\", '[',",
    "]",
    "[[agent]]",
    "model = \"# no \\\" comment\"",
    "[agent.extra]",
    "deep = 1",
    "[[agent]]",
    "text = \"\"\"a\\\"\"\"\"\"\"",
    "model = 4"
  ].join("\r\n")
  expect(() => parse(source)).not.toThrow()
  const lineOf = tomlLines(source)
  expect(lineOf(["a b", "c"])).toBe(2)
  expect(lineOf(["list"])).toBe(5)
  expect(lineOf(["agent", 0, "model"])).toBe(9)
  expect(lineOf(["agent", 0, "extra", "deep"])).toBe(11)
  expect(lineOf(["agent", 1, "model"])).toBe(14)
  expect(lineOf(["agent", 1, "nothing"])).toBe(12)
  expect(lineOf(["nothing"])).toBe(1)
})

it("any text whatever is placed without a failure or an endless loop", () => {
  const piece = FastCheck.constantFrom(
    "\"",
    "'",
    "\"\"\"",
    "'''",
    "[",
    "]",
    "[[",
    "=",
    "\n",
    "#",
    ".",
    "\\",
    "a",
    " ",
    "{",
    ","
  )
  FastCheck.assert(
    FastCheck.property(FastCheck.array(piece, { maxLength: 60 }), (pieces) => {
      const source = pieces.join("")
      const line = tomlLines(source)(["a"])
      return line >= 1 && line <= source.split("\n").length
    }),
    { numRuns: 2000 }
  )
})
