// Reading a child's output while its scope closes: neither the reader nor the child holds up the end.
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Stream } from "effect"
import { tmpdir } from "node:os"
import { spawn } from "../../../src/layers/process/ManagedProcess.ts"

const start = (script: string) =>
  spawn({
    command: process.execPath,
    args: ["-e", script],
    cwd: tmpdir(),
    env: { PATH: "/usr/bin:/bin" },
    marker: ["PROCESS_OUTPUT_TEST", String(process.pid)],
    grace: "10 seconds",
    stopBy: "stdin"
  })

describe("ProcessOutput", () => {
  it.live("a reader that waits for output ends with the scope, before the child is stopped", () =>
    Effect.gen(function*() {
      const child = yield* Effect.scoped(Effect.gen(function*() {
        const child = yield* start("process.stdin.resume(); console.log('ready')")
        const ready = yield* Deferred.make<void>()
        yield* child.stdout.pipe(
          Stream.runForEach(() => Deferred.succeed(ready, void 0)),
          Effect.forkScoped
        )
        yield* Deferred.await(ready)
        return child
      }))
      expect(yield* child.end).toMatchObject({ code: 0, signal: null })
    }))

  it.live("a child that has much to say at its end can end, though its reader is gone", () =>
    Effect.gen(function*() {
      const sayMuch = "require('fs').writeSync(1, 'x'.repeat(4_000_000)); process.exit(7)"
      const child = yield* Effect.scoped(Effect.gen(function*() {
        const child = yield* start(`process.stdin.on('end', () => { ${sayMuch} }).resume(); console.log('ready')`)
        yield* child.stdout.pipe(Stream.take(1), Stream.runDrain)
        return child
      }))
      expect(yield* child.end).toMatchObject({ code: 7, signal: null })
    }))

  it.live(
    "the output ends soon after the child, though something that it left holds the pipe",
    () =>
      Effect.gen(function*() {
        const leave =
          "require('child_process').spawn('sleep', ['60'], { detached: true, stdio: ['ignore', 'inherit', 'ignore'] }).unref()"
        const heard = yield* Effect.scoped(Effect.gen(function*() {
          const child = yield* start(`${leave}; require('fs').writeSync(1, 'last words'); process.exit(0)`)
          return yield* child.stdout.pipe(Stream.decodeText(), Stream.mkString, Effect.timeout("10 seconds"))
        }))
        expect(heard).toBe("last words")
      }),
    15_000
  )
})
