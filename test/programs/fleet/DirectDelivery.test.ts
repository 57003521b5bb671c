// The whole way of a direct input: `fleet send` → the real fleetd → the real Pi → its history, and the agent's answer back
// through the tool to crossfire's contract.
import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as SqliteRegistry from "../../../src/layers/fleetd/sqlite/SqliteRegistry.ts"
import { piModels, scriptedModelId, scriptedProviderId } from "../../../src/layers/model/ModelCatalog.ts"
import * as ScriptedModel from "../../../src/layers/model/ScriptedModel.ts"
import { steps, writeSteps } from "../../../src/layers/model/StepsScript.ts"
import { FleetRegistry } from "../../../src/services/FleetRegistry.ts"
import { serve } from "../../support/CrossfireContract.ts"
import { editor, registryIn, scratchFolder, smallFleet } from "../../support/FleetFile.ts"
import { binary, parsed, run } from "../../support/ProgramRun.ts"

interface Delivered {
  readonly state: string
  readonly entry: string
  readonly history: string
}

it.scopedLive(
  "[C-02] [M-08] a direct message is told as delivered with its native entry, and answered to a named room",
  () =>
    Effect.gen(function*() {
      const folder = yield* scratchFolder
      const root = join(folder, "root")
      const work = join(folder, "work")
      mkdirSync(work)
      const crossfire = yield* serve()
      const model = yield* ScriptedModel.serve({ script: steps })
      const fleet = (...args: ReadonlyArray<string>) => run(binary("fleet"), [...args, "--root", root])
      expect((yield* fleet("init")).code).toBe(0)
      writeFileSync(join(folder, "models.json"), piModels(model.baseUrl))
      writeFileSync(join(root, "fleet.toml"), `[pi]\nmodels = "${join(folder, "models.json")}"\n`)
      const { agents, ...rest } = smallFleet(crossfire.url)
      const [one] = agents.filter(({ agent }) => agent.agentId === editor)
      if (one === undefined) return
      const agent = { ...one.agent, model: `${scriptedProviderId}/${scriptedModelId}`, workFolder: work }
      yield* Effect.flatMap(
        FleetRegistry,
        (registry) => registry.introduce({ ...rest, agents: [{ ...one, agent }] })
      ).pipe(Effect.provide(SqliteRegistry.layer.pipe(Layer.provide(registryIn(root)))))
      yield* Effect.acquireRelease(fleet("up"), () => fleet("down"))

      const text = writeSteps(
        { tool: { name: "room_send", args: { room: "!r:test", text: "Hello from the editor" } } },
        { text: "done" }
      )
      const sent = yield* fleet("send", "editor", text, "--wait", "30", "--json")
      expect([sent.code, sent.stderr]).toStrictEqual([0, ""])
      const delivered = parsed(sent.stdout) as Delivered
      expect(delivered.state).toBe("delivered")
      const entry = readFileSync(delivered.history, "utf8").split("\n").find((line) => line.includes(delivered.entry))
      expect(entry).toContain("⟦fleet delivery")
      expect(entry).toContain("Hello from the editor")

      while (!crossfire.asked.some(({ endpoint }) => endpoint === "send")) yield* Effect.sleep("20 millis")
      const [asked] = crossfire.asked.filter(({ endpoint }) => endpoint === "send")
      expect(asked).toMatchObject({
        who: "@street-editor:test",
        payload: { roomId: "!r:test", text: "Hello from the editor" }
      })
      expect(crossfire.asked.filter(({ endpoint }) => endpoint === "acquireLease").length).toBe(1)

      const status = yield* fleet("status")
      expect(status.stdout).toContain("held (generation 7)")
      expect(status.stdout).toContain(delivered.history)
      expect(readFileSync(join(root, "fleetd.log"), "utf8")).not.toContain("Hello from the editor")
    }),
  120_000
)
