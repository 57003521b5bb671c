// The server as a client sees it over real sockets: streams, refusals, limits, the record, and the end of its scope.
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Schedule, Scope } from "effect"
import { once } from "node:events"
import { request } from "node:http"
import { scriptedModelId } from "../../../src/layers/model/ModelCatalog.ts"
import type { Step } from "../../../src/layers/model/Script.ts"
import { type ScriptedModel, serve } from "../../../src/layers/model/ScriptedModel.ts"
import { steps, writeSteps } from "../../../src/layers/model/StepsScript.ts"

const bodyOf = (text: string) =>
  JSON.stringify({ model: scriptedModelId, input: [{ role: "user", content: text }], tools: [] })

const post = (model: ScriptedModel, body: string, signal: AbortSignal | null = null) =>
  Effect.promise(() => fetch(`${model.baseUrl}/responses`, { method: "POST", body, signal }))

const ask = (model: ScriptedModel, ...script: ReadonlyArray<Step>) => post(model, bodyOf(writeSteps(...script)))

/** Aborts at the end of the scope. */
const leavingSignal = Effect.acquireRelease(
  Effect.sync(() => new AbortController()),
  (controller) => Effect.sync(() => controller.abort())
).pipe(Effect.map(({ signal }) => signal))

const eventTypes = (text: string) => [...text.matchAll(/^event: response\.(\S+)$/gmu)].map((match) => match[1])

/** What arrived before the end of the connection, and whether it ended as a complete answer. */
const received = (response: Response) =>
  Effect.promise(async () => {
    let text = ""
    const decoder = new TextDecoder()
    try {
      for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true })
      return { text, complete: true }
    } catch {
      return { text, complete: false }
    }
  })

describe("ScriptedModel", () => {
  it.scopedLive("streams a step and records its request before the answer starts", () =>
    Effect.gen(function*() {
      const model = yield* serve({ script: steps })
      const response = yield* ask(model, { text: "hello", chunks: 2 })
      const [recorded] = yield* model.requests.get
      expect(recorded).toMatchObject({ model: scriptedModelId, itemCount: 1, step: { text: "hello" }, offered: [] })
      expect(response.headers.get("content-type")).toBe("text/event-stream")
      const { complete, text } = yield* received(response)
      expect(complete).toBe(true)
      expect(eventTypes(text).at(0)).toBe("created")
      expect(eventTypes(text).at(-1)).toBe("completed")
    }))

  it.scopedLive("answers with a status, its code and headers", () =>
    Effect.gen(function*() {
      const model = yield* serve({ script: steps })
      const step = { status: 429, code: "usage_limit_reached", message: "no more", headers: { "retry-after": "3" } }
      const response = yield* ask(model, step)
      expect(response.status).toBe(429)
      expect(response.headers.get("retry-after")).toBe("3")
      expect(yield* Effect.promise(() => response.json())).toEqual({
        error: { type: "usage_limit_reached", code: "usage_limit_reached", message: "no more" }
      })
    }))

  it.scopedLive("cuts the connection where the step says so, after what came before", () =>
    Effect.gen(function*() {
      const model = yield* serve({ script: steps })
      const { complete, text } = yield* received(yield* ask(model, { text: "abcd", chunks: 4, drop: 2 }))
      expect(complete).toBe(false)
      expect(eventTypes(text).filter((type) => type === "output_text.delta").length).toBe(2)
      expect(eventTypes(text)).not.toContain("completed")
    }))

  it.live("closing the scope ends open responses and the port", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const model = yield* serve({ script: steps }).pipe(Scope.extend(scope))
      const hanging = yield* Effect.forEach(
        [{ text: "a", hang: true }, { delay: 3_600_000 }],
        (step) => Effect.flatMap(ask(model, step), (response) => Effect.fork(received(response)))
      )
      const halfSent = request(`${model.baseUrl}/responses`, { method: "POST" })
      const cut = yield* Effect.fork(Effect.async<string>((resume) => {
        halfSent.on("error", () => resume(Effect.succeed("cut")))
        halfSent.on("response", () => resume(Effect.succeed("answered")))
        halfSent.write("{")
      }))
      yield* Effect.promise(() => once(halfSent, "socket").then(([socket]) => once(socket, "connect")))
      yield* Scope.close(scope, Exit.void)
      expect(yield* Fiber.join(cut)).toBe("cut")
      for (const fiber of hanging) expect(yield* Fiber.join(fiber)).toMatchObject({ complete: false })
      expect(Exit.isFailure(yield* Effect.exit(ask(model, { text: "b" })))).toBe(true)
    }))

  it.scopedLive("a client that goes away frees its place; one too many is told that the provider is overloaded", () =>
    Effect.gen(function*() {
      const model = yield* serve({ script: steps, maxOpenResponses: 1 })
      yield* Effect.scoped(Effect.gen(function*() {
        yield* post(model, bodyOf(writeSteps({ hang: true })), yield* leavingSignal)
        expect((yield* ask(model, { text: "b" })).status).toBe(503)
      }))
      // The server hears of the closed socket in its own time.
      yield* ask(model, { text: "c" }).pipe(
        Effect.repeat({ until: ({ status }) => status === 200, schedule: Schedule.spaced("5 millis") }),
        Effect.timeout("10 seconds")
      )
    }))

  it.scopedLive("refuses what it cannot serve: paths, bodies that are no request, bodies above 64 MiB", () =>
    Effect.gen(function*() {
      const model = yield* serve({ script: steps })
      expect((yield* Effect.promise(() => fetch(`${model.baseUrl}/chat/completions`))).status).toBe(404)
      expect((yield* post(model, "no request")).status).toBe(400)
      const mebibyte = Buffer.alloc(1024 * 1024, "x")
      // Without a length, so that only counting can tell.
      const status = yield* Effect.async<number | null | undefined>((resume) => {
        const outgoing = request(`${model.baseUrl}/responses`, { method: "POST" }, (response) => {
          resume(Effect.succeed(response.statusCode))
          response.resume()
        })
        outgoing.on("error", () => resume(Effect.succeed(null)))
        for (let count = 0; count < 65; count++) outgoing.write(mebibyte)
        outgoing.end()
      })
      expect(status).toBe(413)
      expect(yield* model.requests.get).toEqual([])
      expect((yield* ask(model, { text: "still here" })).status).toBe(200)
    }))

  it.scopedLive("lists the scripted model", () =>
    Effect.gen(function*() {
      const model = yield* serve({ script: steps })
      const listed = yield* Effect.promise(async () => (await fetch(`${model.baseUrl}/models?client_version=1`)).json())
      expect(listed).toMatchObject({ data: [{ id: scriptedModelId }], models: [{ slug: scriptedModelId }] })
    }))

  it.scopedLive("keeps the newest 1,000 requests", () =>
    Effect.gen(function*() {
      const model = yield* serve({ script: steps })
      const send = (text: string) => Effect.flatMap(post(model, bodyOf(text)), received)
      yield* send("the oldest")
      yield* Effect.forEach(Array.from({ length: 999 }, (_, index) => `request ${index}`), send, { concurrency: 16 })
      expect((yield* model.requests.get).map(({ step }) => step.text).at(0)).toBe("ok: the oldest")
      yield* send("the newest")
      const recorded = yield* model.requests.get
      expect(recorded.length).toBe(1000)
      expect(recorded.map(({ step }) => step.text)).not.toContain("ok: the oldest")
      expect(recorded.at(-1)?.step.text).toBe("ok: the newest")
    }))

  it.scopedLive("names calls differently in each life of the server", () =>
    Effect.gen(function*() {
      const callIds = yield* Effect.forEach([1, 2], () =>
        Effect.scoped(Effect.gen(function*() {
          const model = yield* serve({ script: steps })
          const { text } = yield* received(yield* ask(model, { tool: { name: "a" } }))
          return /"call_id":"([^"]+)"/u.exec(text)?.[1]
        })))
      expect(callIds[0]).toMatch(/^call_/u)
      expect(callIds[0]).not.toBe(callIds[1])
    }))
})
