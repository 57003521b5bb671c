// The thread of one activation: begun with a history that stands on disk, or resumed as exactly the one that was bound.
// Codex keeps some settings over a resume and drops others, so all are given again, and what came back is compared.
import { Effect } from "effect"
import { realpath } from "node:fs/promises"
import { dirname } from "node:path"
import { Binding } from "../../domain/History.ts"
import type { Activation, EngineGone, EngineUnavailable } from "../../services/NativeEngine.ts"
import { guardNew, history } from "./CodexHistory.ts"
import { unavailable } from "./CodexHome.ts"
import { Empty, ThreadResult } from "./CodexProtocol.ts"
import { type CodexSettings, type SandboxMode, threadConfig } from "./CodexSettings.ts"
import { asUnavailable, type CodexWire } from "./CodexWire.ts"

/** The messaging tool's own start is part of it; a resume reads the whole history. */
const startDeadline = "60 seconds"
const resumeDeadline = "5 minutes"
const nameDeadline = "30 seconds"

const sandboxTypes: Record<SandboxMode, string> = {
  "read-only": "readOnly",
  "workspace-write": "workspaceWrite",
  "danger-full-access": "dangerFullAccess"
}

export interface ThreadWish {
  readonly settings: CodexSettings
  readonly activation: Activation
  readonly codexHome: string
  /** Without links: Codex compares it with its own idea of the folder. */
  readonly workFolder: string
}

const overridesOf = ({ activation, settings, workFolder }: ThreadWish) => ({
  model: activation.model,
  cwd: workFolder,
  sandbox: settings.sandbox,
  approvalPolicy: settings.approvalPolicy,
  config: threadConfig(settings, { ...activation, workFolder })
})

/** Fails where Codex runs the thread with anything but what was asked for. */
const compare = ({ activation, settings, workFolder }: ThreadWish, result: ThreadResult) => {
  const settled: ReadonlyArray<readonly [setting: string, wanted: unknown, found: unknown]> = [
    ["model", activation.model, result.model],
    ["effort", activation.effort, result.reasoningEffort],
    ["work folder", workFolder, result.cwd],
    ["sandbox", sandboxTypes[settings.sandbox], result.sandbox.type],
    ["approval policy", settings.approvalPolicy, result.approvalPolicy]
  ]
  const drifted = settled.find(([, wanted, found]) => wanted !== found)
  return drifted === undefined
    ? Effect.void
    : unavailable(`it did not take the ${drifted[0]} "${String(drifted[1])}"`)
}

const isSameFile = (one: string, other: string) =>
  Effect.tryPromise(async () => (await realpath(one)) === (await realpath(other))).pipe(
    Effect.orElseSucceed(() => false)
  )

const foldersUp = (path: string, top: string): ReadonlyArray<string> => {
  const folder = dirname(path)
  return folder.length <= top.length ? [top] : [folder, ...foldersUp(folder, top)]
}

/** A new thread. Codex would write no file before the first input; giving it a name makes it do so. */
const begin = (wire: CodexWire, wish: ThreadWish) =>
  Effect.gen(function*() {
    const result = yield* wire.request("thread/start", overridesOf(wish), ThreadResult, startDeadline)
    yield* compare(wish, result)
    const { id, path } = result.thread
    if (path === null) return yield* unavailable("its new thread has no history file")
    yield* wire.request("thread/name/set", { threadId: id, name: wish.activation.context }, Empty, nameDeadline)
    const binding = new Binding({ engine: "codex", nativeId: id, path })
    yield* guardNew(binding, foldersUp(path, wish.codexHome)).pipe(
      Effect.mapError((broken) => unavailable(`its new history does not stand: ${broken.message}`))
    )
    return binding
  }).pipe(Effect.catchTag("RequestRefused", asUnavailable))

const resume = (wire: CodexWire, wish: ThreadWish, binding: Binding) =>
  Effect.gen(function*() {
    const params = { ...overridesOf(wish), threadId: binding.nativeId, excludeTurns: true }
    const result = yield* wire.request("thread/resume", params, ThreadResult, resumeDeadline)
    const { id, path } = result.thread
    if (id !== binding.nativeId || path === null || !(yield* isSameFile(path, binding.path))) {
      return yield* unavailable(`it resumed another history than ${binding.path}`)
    }
    yield* compare(wish, result)
    return binding
  }).pipe(Effect.catchTag("RequestRefused", asUnavailable))

/** Whether the bound history can be gone on with at all, before any process sees it. */
export const checkBinding = (binding: Binding | null): Effect.Effect<void, EngineUnavailable> => {
  if (binding === null) return Effect.void
  if (binding.engine !== "codex") return unavailable(`the history ${binding.path} is one of ${binding.engine}`)
  return history.guard(binding, null).pipe(Effect.mapError((broken) => unavailable(broken.message)), Effect.asVoid)
}

export const open = (
  wire: CodexWire,
  wish: ThreadWish
): Effect.Effect<Binding, EngineUnavailable | EngineGone> =>
  wish.activation.binding === null ? begin(wire, wish) : resume(wire, wish, wish.activation.binding)
