// Signing in over a real homeserver: the message comes, is used, is gone; nobody else learns or gets anything.
import { expect, it } from "@effect/vitest"
import { Effect, Layer, Option, Redacted } from "effect"
import { createServer } from "node:http"
import type { EventId, RoomId } from "../../../../src/domain/Ids.ts"
import { isRedacted } from "../../../../src/domain/MatrixEvent.ts"
import { maxLinksPerPerson } from "../../../../src/domain/Session.ts"
import * as SignInMessage from "../../../../src/layers/crossfire/people/SignInMessage.ts"
import { newSecret } from "../../../../src/layers/crypto/Secret.ts"
import { prepare, start } from "../../../../src/layers/homeserver/ManagedSynapse.ts"
import * as HomeserverHttp from "../../../../src/layers/matrix/HomeserverHttp.ts"
import { deviceId } from "../../../../src/layers/matrix/Masquerade.ts"
import * as SynapseMatrix from "../../../../src/layers/matrix/SynapseMatrix.ts"
import { CrossfireDb } from "../../../../src/services/Database.ts"
import { Matrix } from "../../../../src/services/Matrix.ts"
import { People } from "../../../../src/services/People.ts"
import { SignIn } from "../../../../src/services/SignIn.ts"
import * as TestSynapse from "../../homeserver/TestSynapse.ts"
import { alice, bot, database, user } from "../World.ts"
import { ask, doors, secretIn, watched } from "./SignInFixture.ts"

const carol = user("carol")
const gone = user("gone")

it.scopedLive(
  "[H-03] [A10] [A13] on a real homeserver a link comes, is good once and in its browser, and is gone afterwards",
  () =>
    Effect.gen(function*() {
      const { people, prepared } = yield* TestSynapse.make
      const matrix = yield* SynapseMatrix.make(prepared.access)
      const db = yield* database
      const outside = Layer.merge(Layer.succeed(Matrix, matrix), Layer.succeed(CrossfireDb, db))
      yield* matrix.ensureUser(bot, "crossfire")
      for (const person of [alice, carol, gone]) yield* people.register(person)
      yield* people.deactivate(gone, false)

      const said = (room: RoomId) =>
        Effect.gen(function*() {
          const page = yield* matrix.page({
            as: bot,
            roomId: room,
            from: yield* matrix.boundary,
            to: null,
            direction: "backward",
            limit: 100,
            maxBytes: 1_000_000
          })
          return page.events.filter(({ type }) => type === "m.room.message").toReversed()
        })
      const rooms = matrix.joinedRooms(bot)
      const isGone = (room: RoomId, event: EventId) =>
        TestSynapse.eventually(matrix.event(bot, room, event), isRedacted)

      const sent = yield* Effect.gen(function*() {
        // The first asks lead nowhere; the last one shows that they were looked at.
        for (const nobody of ["nobody", "gone", "@alice:elsewhere.test", "cf-bot"]) yield* ask(nobody)
        const mine = yield* ask("Alice")
        yield* TestSynapse.eventually(rooms, (found) => found.length > 0)
        const [room] = yield* rooms
        if (room === undefined) return yield* Effect.dieMessage("no room")
        yield* TestSynapse.eventually(matrix.members(bot, room), (members) => members.length === 2)
        // The person is invited, and sees what was said before the answer.
        yield* people.join(alice, room)
        yield* TestSynapse.eventually(said(room), (events) => events.length === 1)
        const [message] = yield* said(room)
        if (message === undefined) return yield* Effect.dieMessage("no message")
        const members = yield* matrix.members(bot, room)
        expect(members.map(({ userId }) => userId).toSorted()).toStrictEqual([alice, bot])
        return { room, message, mine, link: Option.getOrThrow(secretIn(message.content)) }
      }).pipe(Effect.provide(doors(outside)))

      // Another life of crossfire: the link is good there too.
      yield* Effect.gen(function*() {
        const signIn = yield* SignIn
        const { link, message, mine, room } = sent
        const elsewhere = yield* ask("alice")
        const use = (browserSecret: typeof mine.browserSecret | null) =>
          signIn.complete({ link, browserSecrets: browserSecret === null ? [] : [browserSecret], browser: "Firefox" })
        expect(yield* Effect.flip(use(null))).toMatchObject({ problem: "another-browser" })
        expect(yield* Effect.flip(use(elsewhere.browserSecret))).toMatchObject({ problem: "another-browser" })
        expect((yield* use(mine.browserSecret)).principal.userId).toBe(alice)
        expect(yield* Effect.flip(use(mine.browserSecret))).toMatchObject({ problem: "over" })
        yield* isGone(room, message.event_id)
        // The second link was made in the meantime; it goes into the same chat, and so does the third, and no other.
        yield* TestSynapse.eventually(said(room), (events) => events.length === 2)
        for (let count = 0; count < 5; count += 1) yield* ask("alice")
        yield* TestSynapse.eventually(said(room), (events) => events.length === maxLinksPerPerson)
        yield* ask("carol")
        yield* TestSynapse.eventually(rooms, (found) => found.length === 2)
        expect(yield* said(room)).toHaveLength(maxLinksPerPerson)
      }).pipe(Effect.provide(doors(outside)))

      // An account that its owner ends, as any client can.
      yield* people.deactivate(alice, false)
      yield* TestSynapse.eventually(
        Effect.flatMap(People, (known) => known.find(alice)),
        Option.exists(({ active }) => !active)
      ).pipe(Effect.provide(watched(outside)))
      expect(yield* db.read(db.sql`SELECT 1 FROM session`)).toStrictEqual([])
    }),
  120_000
)

it.scopedLive(
  "[A16] the homeserver's own previewer asks for the page without the secret",
  () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const page = yield* Effect.acquireRelease(
        Effect.async<ReturnType<typeof createServer>>((resume) => {
          const server = createServer((request, response) => {
            asked.push(request.url ?? "")
            response.writeHead(200, { "content-type": "text/html" }).end("<title>crossfire</title>")
          })
          server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.sync(() => server.close())
      )
      const address = page.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      const folder = yield* TestSynapse.temporaryFolder
      const plain = TestSynapse.testConfig(folder, TestSynapse.nowhere)
      const prepared = yield* prepare({
        ...plain,
        settings: {
          ...plain.settings,
          url_preview_enabled: true,
          url_preview_ip_range_blacklist: ["10.0.0.0/8"],
          url_preview_ip_range_whitelist: ["127.0.0.1/32"]
        }
      })
      yield* start(prepared)
      const matrix = yield* SynapseMatrix.make(prepared.access)
      yield* matrix.ensureUser(bot, "crossfire")
      const http = yield* HomeserverHttp.make
      const secret = yield* newSecret()
      const link = SignInMessage.linkOf(`http://127.0.0.1:${port}`, secret)
      const url = new URL(`${prepared.access.baseUrl}/_matrix/client/v1/media/preview_url`)
      for (const [name, value] of [["url", link], ["user_id", bot], ["device_id", deviceId]] as const) {
        url.searchParams.set(name, value)
      }
      const answer = yield* http.exchange({
        operation: "preview",
        method: "GET",
        url,
        headers: { authorization: `Bearer ${Redacted.value(prepared.access.asToken)}` },
        deadlineSeconds: 30
      })
      expect(answer.status).toBe(200)
      expect(asked).toStrictEqual(["/sign-in/link"])
    }),
  120_000
)
