// Reads a roster file: TOML, its fields, the folders and instruction files it names. Every problem is found in one go and
// says file, line and field. Whether the instance takes the roster is asked elsewhere.
import { Effect, Either, Option, Schema } from "effect"
import { readFile, stat } from "node:fs/promises"
import { basename, dirname, isAbsolute, join, normalize, resolve } from "node:path"
import { parse, TomlError } from "smol-toml"
import { quoted } from "../../domain/DeliveryHeader.ts"
import { maxRosterAgents, nameSkeleton, type Roster, type RosterAgent } from "../../domain/Roster.ts"
import { maxRosterBytes, rosterBytes } from "../../domain/RosterCheck.ts"
import {
  agentFieldNames,
  agentFields,
  type Checked,
  fleetFieldNames,
  fleetFields,
  instructionsText,
  unknownField
} from "./RosterFields.ts"
import { type LineOf, tomlLines } from "./TomlLines.ts"

export const RosterFileProblem = Schema.Struct({
  /** Counted from 1; null where the file as a whole is meant. */
  line: Schema.NullOr(Schema.Int),
  /** The agent it is about, in the file's order and by name where it has one; null for the fleet's own fields. */
  agent: Schema.NullOr(Schema.String),
  field: Schema.NullOr(Schema.String),
  problem: Schema.String
})
export type RosterFileProblem = typeof RosterFileProblem.Type

export class RosterInvalid extends Schema.TaggedError<RosterInvalid>()("RosterInvalid", {
  file: Schema.String,
  problems: Schema.Array(RosterFileProblem)
}) {
  override get message(): string {
    return this.problems.map(({ agent, field, line, problem }) => {
      const where = line === null ? this.file : `${this.file}:${line}`
      const what = [agent, field].filter((part) => part !== null).join(", ")
      return `${where}: ${what === "" ? "" : `${what}: `}${problem}`
    }).join("\n")
  }
}

export interface RosterFile {
  readonly file: string
  readonly roster: Roster
  /** A problem found later with an agent's setting, told the same way as one found in the file. */
  readonly problem: (agentIndex: number, field: string, problem: string) => RosterFileProblem
}

const maxFileBytes = 1_048_576

class Unreadable extends Schema.TaggedError<Unreadable>()("Unreadable", { reason: Schema.String }) {}

const systemReasons: Readonly<Record<string, string>> = {
  ENOENT: "it does not exist",
  ENOTDIR: "a part of its path is no folder",
  EACCES: "it may not be read",
  EISDIR: "it is a folder",
  ELOOP: "its links lead in a circle"
}

const unreadable = (cause: unknown): Unreadable => {
  if (cause instanceof Unreadable) return cause
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "an unknown error"
  return new Unreadable({ reason: systemReasons[code] ?? `the system says ${code}` })
}

const attempt = <A>(run: () => Promise<A>) => Effect.tryPromise({ try: run, catch: unreadable })

const readText = (path: string) =>
  Effect.gen(function*() {
    const found = yield* attempt(() => stat(path))
    if (found.isDirectory()) return yield* new Unreadable({ reason: "it is a folder" })
    if (!found.isFile()) return yield* new Unreadable({ reason: "it is no ordinary file" })
    if (found.size > maxFileBytes) return yield* new Unreadable({ reason: `it is larger than ${maxFileBytes} bytes` })
    const bytes = yield* attempt(() => readFile(path))
    return yield* Effect.try({
      try: () => new TextDecoder("utf-8", { fatal: true }).decode(bytes),
      catch: () => new Unreadable({ reason: "it is not UTF-8 text" })
    })
  })

/** A path as the roster writes it: absolute, under `~/`, or beside the roster file. */
const located = (written: string, file: string, home: string): string => {
  if (written === "~") return normalize(home)
  if (written.startsWith("~/")) return join(home, written.slice(2))
  return normalize(isAbsolute(written) ? written : join(dirname(file), written))
}

const folderProblem = (path: string) =>
  attempt(() => stat(path)).pipe(
    Effect.map((found) => found.isDirectory() ? null : `${quoted(path)} is no folder`),
    Effect.catchAll((error) => Effect.succeed(`${quoted(path)} cannot be used: ${error.reason}`))
  )

const isTable = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date)

/** Collects what is wrong with one table of the file. */
const inspect = (
  table: Readonly<Record<string, unknown>>,
  known: ReadonlyArray<string>,
  say: (field: string, problem: string) => void
) => {
  for (const name of Object.keys(table)) {
    if (!known.includes(name)) say(name, unknownField(name, known))
  }
  const field = <A>(name: string, check: (value: unknown) => Checked<A>): Option.Option<A> => {
    const value = table[name]
    if (value === undefined) return Option.none()
    return Either.match(check(value), {
      onLeft: (problem) => {
        say(name, problem)
        return Option.none()
      },
      onRight: Option.some
    })
  }
  const required = <A>(name: string, check: (value: unknown) => Checked<A>): Option.Option<A> => {
    if (table[name] === undefined) say(name, "is missing")
    return field(name, check)
  }
  return { field, required }
}

interface Place {
  readonly file: string
  readonly home: string
  readonly lineOf: LineOf
}

const agentLabel = (index: number, table: unknown): string => {
  const name = isTable(table) ? table["name"] : undefined
  return typeof name === "string" && name !== "" ? `agent ${index + 1} (${quoted(name)})` : `agent ${index + 1}`
}

const readAgent = (place: Place, index: number, table: unknown, problems: Array<RosterFileProblem>) =>
  Effect.gen(function*() {
    const say = (field: string | null, problem: string) => {
      const line = place.lineOf(["agent", index, ...(field === null ? [] : [field])])
      problems.push({ line, agent: agentLabel(index, table), field: field === null ? null : quoted(field), problem })
    }
    if (!isTable(table)) {
      say(null, "must be written as a section [[agent]]")
      return Option.none<RosterAgent>()
    }
    const { field, required } = inspect(table, agentFieldNames, say)
    const key = required("key", agentFields.key)
    const name = required("name", agentFields.name)
    const engine = required("engine", agentFields.engine)
    const model = required("model", agentFields.model)
    const effort = field("effort", agentFields.effort)
    const history_mode = field("history_mode", agentFields.history_mode)
    const written = required("work_folder", agentFields.work_folder)
    const work_folder = Option.map(written, (path) => located(path, place.file, place.home))
    if (Option.isSome(work_folder)) {
      const problem = yield* folderProblem(work_folder.value)
      if (problem !== null) say("work_folder", problem)
    }
    const inline = field("instructions", agentFields.instructions)
    const instructionsFile = field("instructions_file", agentFields.instructions_file)
    let instructions = inline
    if (table["instructions"] !== undefined && table["instructions_file"] !== undefined) {
      say("instructions_file", "stands beside instructions; only one of them can be used")
    } else if (Option.isSome(instructionsFile)) {
      const path = located(instructionsFile.value, place.file, place.home)
      const text = yield* readText(path).pipe(
        Effect.mapError((error) => `${quoted(path)} cannot be used: ${error.reason}`),
        Effect.flatMap((text) => Either.mapLeft(instructionsText(text), (problem) => `${quoted(path)} ${problem}`)),
        Effect.either
      )
      if (Either.isLeft(text)) say("instructions_file", text.left)
      else instructions = Option.some(text.right)
    }
    return Option.all({ key, name, engine, model, work_folder }).pipe(
      Option.map((agent): RosterAgent => ({
        ...agent,
        effort: Option.getOrNull(effort),
        history_mode: Option.getOrElse(history_mode, () => "shared" as const),
        instructions: Option.getOrNull(instructions)
      }))
    )
  })

/** Keys used twice, and names that people could take for one another. Told at the later one, naming the earlier one. */
const sayTwice = (tables: ReadonlyArray<unknown>, lineOf: LineOf, problems: Array<RosterFileProblem>) => {
  const seen = new Map<string, { readonly value: string; readonly line: number }>()
  const look = (index: number, field: "key" | "name", sameAs: (value: string) => string) => {
    const table = tables[index]
    const value = isTable(table) ? table[field] : undefined
    if (typeof value !== "string") return
    const line = lineOf(["agent", index, field])
    const mark = `${field} ${sameAs(value)}`
    const earlier = seen.get(mark)
    if (earlier === undefined) {
      seen.set(mark, { value, line })
      return
    }
    const problem = earlier.value === value
      ? `${quoted(value)} stands already in line ${earlier.line}`
      : `${quoted(value)} could be taken for ${quoted(earlier.value)} in line ${earlier.line}`
    problems.push({ line, agent: agentLabel(index, table), field, problem })
  }
  for (const index of tables.keys()) {
    look(index, "key", (value) => value)
    look(index, "name", nameSkeleton)
  }
}

const parseToml = (text: string) =>
  Effect.try({
    try: (): Readonly<Record<string, unknown>> => parse(text),
    catch: (cause) => cause instanceof TomlError ? cause : new TomlError(String(cause), { toml: text, ptr: 0 })
  }).pipe(Effect.mapError((error): RosterFileProblem => ({
    line: error.line,
    agent: null,
    field: null,
    // The first line says what is wrong; the rest repeats the source.
    problem: `is no TOML at column ${error.column}: ${(error.message.split("\n")[0] ?? "").replace(/^.*?: /u, "")}`
  })))

const readAgents = (place: Place, listed: unknown, problems: Array<RosterFileProblem>) =>
  Effect.gen(function*() {
    const say = (problem: string) =>
      problems.push({ line: place.lineOf(["agent"]), agent: null, field: "agent", problem })
    if (listed === undefined) {
      problems.push({ line: null, agent: null, field: "agent", problem: "names no agent: write a section [[agent]]" })
      return []
    }
    if (!Array.isArray(listed)) {
      say("must be written as sections [[agent]]")
      return []
    }
    const tables: ReadonlyArray<unknown> = listed
    if (tables.length === 0) say("names no agent")
    if (tables.length > maxRosterAgents) say(`names ${tables.length} agents; ${maxRosterAgents} are allowed`)
    const agents = yield* Effect.forEach(tables, (table, index) => readAgent(place, index, table, problems))
    sayTwice(tables, place.lineOf, problems)
    return agents.flatMap(Option.toArray)
  })

/** Reads the roster at this path. `home` is what `~` stands for. */
export const read = (path: string, home: string): Effect.Effect<RosterFile, RosterInvalid> =>
  Effect.gen(function*() {
    const file = resolve(path)
    const invalid = (...problems: ReadonlyArray<RosterFileProblem>) => new RosterInvalid({ file, problems })
    const whole = (problem: string) => invalid({ line: null, agent: null, field: null, problem })
    const text = yield* Effect.mapError(readText(file), (error) => whole(`cannot be read: ${error.reason}`))
    const table = yield* Effect.mapError(parseToml(text), invalid)
    const place: Place = { file, home, lineOf: tomlLines(text) }
    const problems: Array<RosterFileProblem> = []
    const { required } = inspect(table, fleetFieldNames, (field, problem) => {
      const line = table[field] === undefined && problem === "is missing" ? null : place.lineOf([field])
      problems.push({ line, agent: null, field: quoted(field), problem })
    })
    const fleet = required("fleet", fleetFields.fleet)
    const owner = required("owner", fleetFields.owner)
    const agents = yield* readAgents(place, table["agent"], problems)
    const settled = Option.all({ fleet, owner })
    if (problems.length > 0 || Option.isNone(settled)) {
      return yield* invalid(...problems.toSorted((one, other) => (one.line ?? 0) - (other.line ?? 0)))
    }
    const roster: Roster = { ...settled.value, agents }
    const bytes = rosterBytes(roster)
    if (bytes > maxRosterBytes) {
      return yield* whole(`${basename(file)} takes ${bytes} bytes with its instructions; ${maxRosterBytes} are allowed`)
    }
    const found: RosterFile = {
      file,
      roster,
      problem: (index, field, problem) => ({
        line: place.lineOf(["agent", index, field]),
        agent: agentLabel(index, roster.agents[index]),
        field,
        problem
      })
    }
    return found
  }).pipe(Effect.withSpan("RosterFile.read"))
