// The native engines of this host, by kind, as the owner's settings describe them.
import { Effect, Layer } from "effect"
import { NativeEngines } from "../../services/NativeEngine.ts"
import * as CodexEngine from "../codex/CodexEngine.ts"
import * as PiEngine from "../pi/PiEngine.ts"
import type { FleetSettings } from "./FleetSettings.ts"

export const layer = (settings: Pick<FleetSettings, "codex" | "pi">): Layer.Layer<NativeEngines> =>
  Layer.effect(
    NativeEngines,
    Effect.gen(function*() {
      const codex = yield* CodexEngine.make(settings.codex)
      const pi = yield* PiEngine.make(settings.pi)
      return NativeEngines.of({ get: (kind) => kind === "codex" ? codex : pi })
    })
  )
