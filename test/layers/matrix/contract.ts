// What the homeserver's port promises, as one suite for every implementation of it.
import { expect, layer } from "@effect/vitest"
import { Context, Effect, type Layer } from "effect"
import { EventId, type RoomId, StreamToken, UserId } from "../../../src/domain/Ids.ts"
import {
  isRedacted,
  type MatrixEvent,
  membership,
  mentionedUsers,
  messageText,
  redactedEvent
} from "../../../src/domain/MatrixEvent.ts"
import type { NewRoom } from "../../../src/layers/matrix/MemoryHomeserver.ts"
import { type Matrix, type MatrixError, PageFailed, type PageRequest } from "../../../src/services/Matrix.ts"

/** What people do in their clients. */
export interface People {
  readonly register: (user: UserId) => Effect.Effect<void, MatrixError>
  /** By its owner; with `erase`, the homeserver forgets the profile too. */
  readonly deactivate: (user: UserId, erase: boolean) => Effect.Effect<void, MatrixError>
  readonly createRoom: (creator: UserId, room?: Partial<NewRoom>) => Effect.Effect<RoomId, MatrixError>
  readonly invite: (by: UserId, roomId: RoomId, user: UserId) => Effect.Effect<void, MatrixError>
  readonly join: (user: UserId, roomId: RoomId) => Effect.Effect<void, MatrixError>
  readonly leave: (user: UserId, roomId: RoomId) => Effect.Effect<void, MatrixError>
  readonly kick: (by: UserId, roomId: RoomId, user: UserId) => Effect.Effect<void, MatrixError>
  readonly send: (
    user: UserId,
    roomId: RoomId,
    content: Readonly<Record<string, unknown>>,
    options?: { readonly type?: string }
  ) => Effect.Effect<EventId, MatrixError>
  readonly setState: (
    user: UserId,
    roomId: RoomId,
    type: string,
    stateKey: string,
    content: Readonly<Record<string, unknown>>
  ) => Effect.Effect<EventId, MatrixError>
  readonly redact: (user: UserId, roomId: RoomId, eventId: EventId) => Effect.Effect<EventId, MatrixError>
}

export class Homeserver extends Context.Tag("crossfire/test/layers/matrix/contract/Homeserver")<Homeserver, {
  readonly matrix: Context.Tag.Service<typeof Matrix>
  readonly people: People
}>() {}

const text = (body: string) => ({ msgtype: "m.text", body, "m.mentions": {} })
const maxBytes = 1024 * 1024

export const contract = <E>(name: string, homeserver: Layer.Layer<Homeserver, E>): void => {
  layer(homeserver, { excludeTestServices: true, timeout: "60 seconds" })(name, (it) => {
    const user = (localpart: string) => UserId.make(`@${localpart}:cf.test`)
    const [alice, bob, agent, other] = [user("alice"), user("bob"), user("cf-agent"), user("cf-other")]

    /** A room of alice's with the agent in it. */
    const room = (wanted: Partial<NewRoom> = {}) =>
      Effect.gen(function*() {
        const { matrix, people } = yield* Homeserver
        yield* matrix.ensureUser(agent, "agent (alice)")
        const roomId = yield* people.createRoom(alice, { ...wanted, invite: [agent] })
        yield* matrix.join(agent, roomId)
        return { matrix, people, roomId }
      })

    const request = (roomId: RoomId, from: StreamToken, to: StreamToken, limit = 100): PageRequest => ({
      as: agent,
      roomId,
      from,
      to,
      direction: "forward",
      limit,
      maxBytes
    })

    /** The whole window, page by page, with how many pages it took. */
    const window = (asked: PageRequest) =>
      Effect.gen(function*() {
        const { matrix } = yield* Homeserver
        const events: Array<MatrixEvent> = []
        let { from } = asked
        for (let pages = 1; pages <= 100; pages++) {
          const page = yield* matrix.page({ ...asked, from })
          events.push(...page.events)
          if (page.end === null) return { events, pages }
          from = page.end
        }
        return yield* Effect.dieMessage("the window does not end")
      })
    const texts = (events: ReadonlyArray<MatrixEvent>) => events.flatMap((event) => messageText(event) ?? [])

    it.effect("[M-01] a window has every event exactly once, in order, whatever the page's limit", () =>
      Effect.gen(function*() {
        const { matrix, people, roomId } = yield* room()
        yield* people.send(alice, roomId, text("before"))
        const from = yield* matrix.boundary
        const wanted = Array.from({ length: 25 }, (_, at) => `message ${at}`)
        for (const body of wanted) yield* people.send(alice, roomId, text(body))
        const to = yield* matrix.boundary
        yield* people.send(alice, roomId, text("after"))
        for (const limit of [1, 7, 25, 100]) {
          const { events, pages } = yield* window(request(roomId, from, to, limit))
          expect(texts(events)).toStrictEqual(wanted)
          expect(new Set(events.map(({ event_id }) => event_id)).size).toBe(25)
          expect(pages).toBe(Math.ceil(25 / limit) + 1)
        }
        const next = yield* window(request(roomId, to, yield* matrix.boundary))
        expect(texts(next.events)).toStrictEqual(["after"])
      }))

    it.effect("a boundary covers what was answered before it, moves only with events, and is the same for every room", () =>
      Effect.gen(function*() {
        const { matrix, people, roomId } = yield* room()
        const elsewhere = yield* room()
        const from = yield* matrix.boundary
        expect(yield* matrix.boundary).toBe(from)
        yield* people.send(alice, elsewhere.roomId, text("elsewhere"))
        const to = yield* matrix.boundary
        expect(to).not.toBe(from)
        expect((yield* window(request(roomId, from, to))).events).toStrictEqual([])
        expect(texts((yield* window(request(elsewhere.roomId, from, to))).events)).toStrictEqual(["elsewhere"])
      }))

    it.effect("many boundaries asked at once each cover what was answered before its own call", () =>
      Effect.gen(function*() {
        const { matrix, people, roomId } = yield* room()
        const from = yield* matrix.boundary
        yield* Effect.forEach(Array.from({ length: 12 }, (_, at) => at), (at) =>
          Effect.gen(function*() {
            yield* people.send(alice, roomId, text(`number ${at}`))
            const to = yield* matrix.boundary
            const seen = texts((yield* window(request(roomId, from, to))).events)
            expect(seen).toContain(`number ${at}`)
          }), { concurrency: 6 })
      }))

    it.effect("an empty window has no end, and a token ahead of the stream reads as empty", () =>
      Effect.gen(function*() {
        const { matrix, roomId } = yield* room()
        const now = yield* matrix.boundary
        const ahead = StreamToken.make("s999999999")
        for (const [from, to] of [[now, now], [ahead, ahead], [ahead, now]] as const) {
          expect(yield* matrix.page(request(roomId, from, to))).toStrictEqual({ events: [], end: null })
        }
      }))

    it.effect("a page read backwards has the newest events first and goes on from its end", () =>
      Effect.gen(function*() {
        const { matrix, people, roomId } = yield* room()
        for (const body of ["one", "two", "three"]) yield* people.send(alice, roomId, text(body))
        const boundary = yield* matrix.boundary
        yield* people.send(alice, roomId, text("after"))
        const backward = {
          ...request(roomId, boundary, boundary, 2),
          to: null,
          direction: "backward" as const
        }
        const first = yield* matrix.page(backward)
        expect(texts(first.events)).toStrictEqual(["three", "two"])
        const second = yield* matrix.page({ ...backward, from: first.end ?? boundary })
        expect(texts(second.events)).toStrictEqual(["one"])
      }))

    it.effect("[M-06] a page over its byte bound fails as too large and fits with a smaller limit", () =>
      Effect.gen(function*() {
        const { matrix, people, roomId } = yield* room()
        const from = yield* matrix.boundary
        for (let at = 0; at < 4; at++) yield* people.send(alice, roomId, text("x".repeat(10_000)))
        const asked = { ...request(roomId, from, yield* matrix.boundary), maxBytes: 25_000 }
        const failed = yield* Effect.flip(matrix.page(asked))
        expect(failed).toStrictEqual(new PageFailed({ roomId, reason: "too-large", limit: 100, eventId: null }))
        expect((yield* matrix.page({ ...asked, limit: 1 })).events).toHaveLength(1)
      }))

    it.effect("a token of another shape is refused", () =>
      Effect.gen(function*() {
        const { matrix, roomId } = yield* room()
        const now = yield* matrix.boundary
        const failed = yield* Effect.flip(
          matrix.page({ ...request(roomId, now, now), from: "nonsense" as StreamToken })
        )
        expect(failed).toMatchObject({ _tag: "MatrixRefused", status: 400 })
      }))

    it.effect("the same transaction ID gives the same event, and only one is in the room", () =>
      Effect.gen(function*() {
        const { matrix, roomId } = yield* room()
        const from = yield* matrix.boundary
        const send = { as: agent, roomId, type: "m.room.message", transactionId: "once", content: text("hello") }
        const first = yield* matrix.send(send)
        expect(yield* matrix.send(send)).toBe(first)
        const second = yield* matrix.send({ ...send, transactionId: "twice" })
        expect(second).not.toBe(first)
        const { events } = yield* window(request(roomId, from, yield* matrix.boundary))
        expect(events.map(({ event_id }) => event_id)).toStrictEqual([first, second])
      }))

    it.effect("the same transaction ID from two agents in a room is one event: IDs must be global", () =>
      Effect.gen(function*() {
        const { matrix, people, roomId } = yield* room()
        yield* matrix.ensureUser(other, "other (alice)")
        yield* people.invite(alice, roomId, other)
        yield* matrix.join(other, roomId)
        const send = { roomId, type: "m.room.message", transactionId: "shared" }
        const first = yield* matrix.send({ ...send, as: agent, content: text("from the one") })
        expect(yield* matrix.send({ ...send, as: other, content: text("from the other") })).toBe(first)
      }))

    it.effect("content with lone surrogates is sent with replacement characters", () =>
      Effect.gen(function*() {
        const { matrix, roomId } = yield* room()
        const content = { ...text("a\ud800b"), "key\udc00": ["\ud800"] }
        const sent = yield* matrix.send({ as: agent, roomId, type: "m.room.message", transactionId: "lone", content })
        const event = yield* matrix.event(agent, roomId, sent)
        expect(event.content).toMatchObject({ body: "a\ufffdb", "key\ufffd": ["\ufffd"] })
      }))

    it.effect("too large an event is refused for good", () =>
      Effect.gen(function*() {
        const { matrix, roomId } = yield* room()
        const content = text("x".repeat(70_000))
        const failed = yield* Effect.flip(
          matrix.send({ as: agent, roomId, type: "m.room.message", transactionId: "large", content })
        )
        expect(failed).toMatchObject({ _tag: "MatrixRefused", status: 413, errcode: "M_TOO_LARGE" })
      }))

    it.effect("an event is read by its ID, mentions and all; an unknown one is refused as not found", () =>
      Effect.gen(function*() {
        const { matrix, people, roomId } = yield* room()
        const content = { ...text("agent: look"), "m.mentions": { user_ids: [agent] } }
        const sent = yield* people.send(alice, roomId, content)
        const event = yield* matrix.event(agent, roomId, sent)
        expect(event).toMatchObject({ event_id: sent, sender: alice, room_id: roomId, type: "m.room.message" })
        expect(mentionedUsers(event)).toStrictEqual([agent])
        const failed = yield* Effect.flip(matrix.event(agent, roomId, "$unknown" as EventId))
        expect(failed).toMatchObject({ _tag: "MatrixRefused", status: 404, errcode: "M_NOT_FOUND" })
      }))

    it.effect("an invitation is listed with its inviter and kind until it is answered", () =>
      Effect.gen(function*() {
        const { matrix, people } = yield* Homeserver
        yield* matrix.ensureUser(other, "other (alice)")
        const plain = yield* people.createRoom(alice, { name: "plain", invite: [other] })
        const direct = yield* people.createRoom(bob, { invite: [other], isDirect: true })
        const encrypted = yield* people.createRoom(alice, { invite: [other], encrypted: true })
        const of = (roomId: RoomId) =>
          Effect.map(matrix.invitations(other), (all) => all.filter((each) => each.roomId === roomId))
        const invitation = { roomId: plain, inviter: alice, isDirect: false, encrypted: false }
        expect(yield* of(plain)).toStrictEqual([invitation])
        expect(yield* of(direct)).toStrictEqual([{ ...invitation, roomId: direct, inviter: bob, isDirect: true }])
        expect(yield* of(encrypted)).toStrictEqual([{ ...invitation, roomId: encrypted, encrypted: true }])
        yield* matrix.join(other, plain)
        yield* matrix.leave(other, direct)
        expect(yield* of(plain)).toStrictEqual([])
        expect(yield* of(direct)).toStrictEqual([])
        expect(yield* matrix.joinedRooms(other)).toContain(plain)
      }))

    it.effect("joining and leaving twice is joining and leaving once; without an invitation it is refused", () =>
      Effect.gen(function*() {
        const { matrix, people, roomId } = yield* room()
        const from = yield* matrix.boundary
        yield* matrix.join(agent, roomId)
        yield* matrix.leave(agent, roomId)
        yield* matrix.leave(agent, roomId)
        expect(yield* matrix.joinedRooms(agent)).not.toContain(roomId)
        const failed = yield* Effect.flip(matrix.join(agent, roomId))
        expect(failed).toMatchObject({ _tag: "MatrixRefused", status: 403, errcode: "M_FORBIDDEN" })
        yield* people.invite(alice, roomId, agent)
        yield* matrix.join(agent, roomId)
        const { events } = yield* window(request(roomId, from, yield* matrix.boundary))
        expect(events.flatMap((event) => membership(event) ?? [])).toStrictEqual(["leave", "invite", "join"])
        const never = yield* people.createRoom(alice)
        yield* matrix.leave(agent, never)
      }))

    it.effect("who was never in a room reads and sends nothing there", () =>
      Effect.gen(function*() {
        const { matrix, people } = yield* room()
        const closed = yield* people.createRoom(alice)
        const now = yield* matrix.boundary
        const refused = { _tag: "MatrixRefused", status: 403, errcode: "M_FORBIDDEN" }
        expect(yield* Effect.flip(matrix.page(request(closed, now, now)))).toMatchObject(refused)
        expect(yield* Effect.flip(matrix.state(agent, closed, "m.room.name", ""))).toMatchObject(refused)
        expect(yield* Effect.flip(matrix.members(agent, closed))).toMatchObject(refused)
        const send = { as: agent, roomId: closed, type: "m.room.message", transactionId: "no", content: text("no") }
        expect(yield* Effect.flip(matrix.send(send))).toMatchObject(refused)
        yield* people.invite(alice, closed, agent)
        expect(yield* Effect.flip(matrix.page(request(closed, now, now)))).toMatchObject(refused)
      }))

    it.effect("who left a room reads its shared history on: the port does not look at membership, its caller must", () =>
      Effect.gen(function*() {
        const { matrix, people, roomId } = yield* room()
        const from = yield* matrix.boundary
        const during = yield* people.send(alice, roomId, text("while there"))
        yield* people.kick(alice, roomId, agent)
        const after = yield* people.send(alice, roomId, text("afterwards"))
        const { events } = yield* window(request(roomId, from, yield* matrix.boundary))
        expect(texts(events)).toStrictEqual(["while there", "afterwards"])
        // One event by its ID is another matter.
        expect(messageText(yield* matrix.event(agent, roomId, during))).toBe("while there")
        expect(yield* Effect.flip(matrix.event(agent, roomId, after))).toMatchObject({ status: 404 })
      }))

    it.effect("who left a room with history for joined ones reads only what was there until then", () =>
      Effect.gen(function*() {
        const { matrix, people, roomId } = yield* room({ visibility: "joined" })
        const from = yield* matrix.boundary
        yield* people.send(alice, roomId, text("while there"))
        yield* people.kick(alice, roomId, agent)
        const after = yield* people.send(alice, roomId, text("afterwards"))
        const { events } = yield* window(request(roomId, from, yield* matrix.boundary))
        expect(texts(events)).toStrictEqual(["while there"])
        expect(yield* Effect.flip(matrix.event(agent, roomId, after))).toMatchObject({ status: 404 })
      }))

    it.effect("who declined an invitation reads the room's shared history: its caller must look at membership", () =>
      Effect.gen(function*() {
        const { matrix, people } = yield* room()
        const from = yield* matrix.boundary
        const roomId = yield* people.createRoom(alice, { invite: [agent] })
        yield* matrix.leave(agent, roomId)
        const sent = yield* people.send(alice, roomId, text("not for the agent"))
        const { events } = yield* window(request(roomId, from, yield* matrix.boundary))
        expect(texts(events)).toStrictEqual(["not for the agent"])
        expect(yield* Effect.flip(matrix.event(agent, roomId, sent))).toMatchObject({ status: 404 })
      }))

    it.effect("a new member sees what was before where history is shared, and not where it is for joined ones", () =>
      Effect.gen(function*() {
        const { matrix, people } = yield* room()
        for (const visibility of ["shared", "joined"] as const) {
          const roomId = yield* people.createRoom(alice, { visibility })
          const from = yield* matrix.boundary
          yield* people.send(alice, roomId, text("before"))
          yield* people.invite(alice, roomId, agent)
          yield* matrix.join(agent, roomId)
          yield* people.send(alice, roomId, text("since"))
          const { events } = yield* window(request(roomId, from, yield* matrix.boundary))
          expect(texts(events)).toStrictEqual(visibility === "shared" ? ["before", "since"] : ["since"])
        }
      }))

    it.effect("acting as a person, as an unmade user or as one of another server is refused", () =>
      Effect.gen(function*() {
        const { matrix, roomId } = yield* room()
        for (const as of [alice, user("cf-nobody"), UserId.make("@cf-agent:elsewhere.test")]) {
          expect(yield* Effect.flip(matrix.joinedRooms(as))).toMatchObject({ _tag: "MatrixRefused", status: 403 })
          expect(yield* Effect.flip(matrix.join(as, roomId))).toMatchObject({ _tag: "MatrixRefused", status: 403 })
        }
        expect(yield* Effect.flip(matrix.ensureUser(alice, "mallory"))).toMatchObject({ _tag: "MatrixRefused" })
      }))

    it.effect("members are told with membership and name, and a new name is seen by them", () =>
      Effect.gen(function*() {
        const { matrix, people, roomId } = yield* room()
        yield* people.invite(alice, roomId, bob)
        const left = user("carol")
        yield* people.invite(alice, roomId, left)
        yield* people.leave(left, roomId)
        const told = yield* matrix.members(agent, roomId)
        expect(told.toSorted((a, b) => a.userId.localeCompare(b.userId))).toMatchObject([
          { userId: alice, membership: "join" },
          { userId: bob, membership: "invite" },
          { userId: agent, membership: "join", displayName: "agent (alice)" }
        ])
        const from = yield* matrix.boundary
        yield* matrix.ensureUser(agent, "agent (alice)")
        expect(yield* matrix.boundary).toBe(from)
      }))

    it.effect("state is read by type and key, and is null where there is none", () =>
      Effect.gen(function*() {
        const { matrix, people, roomId } = yield* room({ name: "state room" })
        expect(yield* matrix.state(agent, roomId, "m.room.name", "")).toStrictEqual({ name: "state room" })
        expect(yield* matrix.state(agent, roomId, "org.example.none", "a/b")).toBeNull()
        yield* people.setState(alice, roomId, "org.example.some", "a/b", { value: 1 })
        expect(yield* matrix.state(agent, roomId, "org.example.some", "a/b")).toStrictEqual({ value: 1 })
      }))

    it.effect("[R-04] a direct chat has exactly its two people and is marked as direct", () =>
      Effect.gen(function*() {
        const { matrix, people } = yield* room()
        const roomId = yield* matrix.createDirectRoom(agent, bob, "agent (alice)")
        const told = (yield* matrix.members(agent, roomId)).map(({ membership, userId }) => [userId, membership])
        expect(new Map(told as Array<[string, string]>)).toStrictEqual(new Map([[agent, "join"], [bob, "invite"]]))
        expect(yield* matrix.state(agent, roomId, "m.room.name", "")).toStrictEqual({ name: "agent (alice)" })
        expect(yield* matrix.state(agent, roomId, "m.room.member", bob)).toMatchObject({ is_direct: true })
        yield* people.join(bob, roomId)
        expect(yield* matrix.joinedRooms(agent)).toContain(roomId)
      }))

    it.effect("a redacted event has lost its content, and the redaction names it", () =>
      Effect.gen(function*() {
        const { matrix, people, roomId } = yield* room()
        const from = yield* matrix.boundary
        const said = yield* people.send(alice, roomId, text("secret"))
        const redaction = yield* people.redact(alice, roomId, said)
        const { events } = yield* window(request(roomId, from, yield* matrix.boundary))
        expect(events.map(({ event_id }) => event_id)).toStrictEqual([said, redaction])
        expect(events.map(isRedacted)).toStrictEqual([true, false])
        expect(events.map(redactedEvent)).toStrictEqual([null, said])
        expect(events[0]?.content).toStrictEqual({})
        expect(isRedacted(yield* matrix.event(agent, roomId, said))).toBe(true)
      }))

    it.effect("one's own message is redacted once per transaction ID; another's not, and not by who is no member", () =>
      Effect.gen(function*() {
        const { matrix, people, roomId } = yield* room()
        const from = yield* matrix.boundary
        const said = yield* matrix.send({
          as: agent,
          roomId,
          type: "m.room.message",
          transactionId: `said ${roomId}`,
          content: text("a secret")
        })
        const taking = { as: agent, roomId, eventId: said, transactionId: `taken back ${roomId}` }
        const redaction = yield* matrix.redact(taking)
        expect(yield* matrix.redact(taking)).toBe(redaction)
        const { events } = yield* window(request(roomId, from, yield* matrix.boundary))
        expect(events.map(({ event_id }) => event_id)).toStrictEqual([said, redaction])
        expect(events.map(redactedEvent)).toStrictEqual([null, said])
        expect(events[0]?.content).toStrictEqual({})
        const theirs = yield* people.send(alice, roomId, text("hers"))
        // One device's transaction ID in a room stands for one event, whatever it is used for.
        expect(yield* matrix.redact({ ...taking, eventId: theirs })).toBe(redaction)
        const another = { ...taking, eventId: theirs, transactionId: `another ${roomId}` }
        expect(yield* Effect.flip(matrix.redact(another))).toMatchObject({ _tag: "MatrixRefused", status: 403 })
        const unknown = { ...taking, eventId: EventId.make(`$${"0".repeat(43)}`), transactionId: `unknown ${roomId}` }
        expect(yield* Effect.flip(matrix.redact(unknown))).toMatchObject({ _tag: "MatrixRefused", status: 404 })
        yield* matrix.leave(agent, roomId)
        const gone = { ...taking, transactionId: `afterwards ${roomId}` }
        expect(yield* Effect.flip(matrix.redact(gone))).toMatchObject({ _tag: "MatrixRefused", status: 403 })
      }))

    it.effect("[F50] an account stands until it is deactivated, whatever else of it is left; an unknown one does not", () =>
      Effect.gen(function*() {
        const { matrix, people } = yield* Homeserver
        const [kept, erased, carol] = [user("kept"), user("erased"), user("carol")]
        for (const person of [kept, erased, carol]) yield* people.register(person)
        const roomId = yield* people.createRoom(carol)
        yield* people.invite(carol, roomId, kept)
        yield* people.join(kept, roomId)
        const standing = Effect.forEach([kept, erased, carol], matrix.accountState)
        expect(yield* standing).toStrictEqual(["stands", "stands", "stands"])
        yield* people.deactivate(kept, false)
        yield* people.deactivate(erased, true)
        expect(yield* standing).toStrictEqual(["deactivated", "deactivated", "stands"])
        for (const nobody of [user("nobody"), user("Carol"), UserId.make("@carol:elsewhere.test")]) {
          expect(yield* matrix.accountState(nobody)).toBe("unknown")
        }
        yield* matrix.ensureUser(agent, "agent (alice)")
        expect(yield* matrix.accountState(agent)).toBe("stands")
      }))

    it.effect("an upload gives an address that can be sent", () =>
      Effect.gen(function*() {
        const { matrix } = yield* room()
        const bytes = new TextEncoder().encode("a file")
        const address = yield* matrix.upload(agent, { name: "notes ü.txt", mediaType: "text/plain", bytes })
        expect(address).toMatch(/^mxc:\/\/cf\.test\/\w+$/u)
      }))

    it.effect("typing is shown and cleared by members alone", () =>
      Effect.gen(function*() {
        const { matrix, people, roomId } = yield* room()
        yield* matrix.typing(agent, roomId, 30_000)
        yield* matrix.typing(agent, roomId, null)
        const closed = yield* people.createRoom(alice)
        expect(yield* Effect.flip(matrix.typing(agent, closed, 30_000))).toMatchObject({ status: 403 })
      }))

    it.effect("each nudge counts on from what it found, in a room of nobody else's", () =>
      Effect.gen(function*() {
        const { matrix } = yield* Homeserver
        const first = yield* matrix.nudge
        expect(first.written).toBe(first.found + 1)
        const before = yield* matrix.boundary
        expect(yield* matrix.nudge).toStrictEqual({ found: first.written, written: first.written + 1 })
        expect(yield* matrix.boundary).not.toBe(before)
        const both = yield* Effect.all([matrix.nudge, matrix.nudge], { concurrency: 2 })
        expect(both.map(({ written }) => written).toSorted((a, b) => a - b)).toStrictEqual([
          first.written + 2,
          first.written + 3
        ])
      }))
  })
}
