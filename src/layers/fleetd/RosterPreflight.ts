// Whether a roster could be enrolled: its file and fields, what the engines on this machine offer and whether they are logged
// in, and, where a crossfire is named, names and capacity there. Nothing is reserved, filed or kept.
import { Effect } from "effect"
import { checkModel, type EngineKind, ModelNotOffered } from "../../domain/Engine.ts"
import type { Roster } from "../../domain/Roster.ts"
import { checkServerUrl } from "../../domain/ServerUrl.ts"
import { NativeEngines } from "../../services/NativeEngine.ts"
import * as RosterFile from "../roster/RosterFile.ts"
import * as EnrollmentClient from "./EnrollmentClient.ts"

/** Every agent's model and effort against what its engine offers here; all problems at once. */
export const checkModels = (file: RosterFile.RosterFile, modelsHome: (engine: EngineKind) => string) =>
  Effect.gen(function*() {
    const engines = yield* NativeEngines
    const kinds = [...new Set(file.roster.agents.map((agent) => agent.engine))]
    const offers = new Map(
      yield* Effect.forEach(
        kinds,
        (kind) => Effect.map(engines.get(kind).models(modelsHome(kind)), (offered) => [kind, offered] as const)
      )
    )
    const problems = file.roster.agents.flatMap((agent, index) => {
      const checked = checkModel(agent.engine, agent, offers.get(agent.engine) ?? [])
      return checked instanceof ModelNotOffered ? [file.problem(index, checked.setting, checked.message)] : []
    })
    if (problems.length > 0) return yield* new RosterFile.RosterInvalid({ file: file.file, problems })
  })

const atCrossfire = (serverUrl: string, roster: Roster) =>
  Effect.gen(function*() {
    const client = yield* EnrollmentClient.make(yield* checkServerUrl(serverUrl))
    yield* EnrollmentClient.once(client.preflight(roster))
  }).pipe(Effect.scoped)

/** Fails with the first kind of problem that is found, all of its kind at once. */
export const check = (options: {
  readonly rosterPath: string
  /** What `~` stands for in the roster. */
  readonly home: string
  /** Null: what crossfire would say is not asked. */
  readonly serverUrl: string | null
  /** A private folder where the engine of that kind can be asked for its models. */
  readonly modelsHome: (engine: EngineKind) => string
}) =>
  Effect.gen(function*() {
    const file = yield* RosterFile.read(options.rosterPath, options.home)
    yield* checkModels(file, options.modelsHome)
    if (options.serverUrl !== null) yield* atCrossfire(options.serverUrl, file.roster)
    return file.roster
  })
