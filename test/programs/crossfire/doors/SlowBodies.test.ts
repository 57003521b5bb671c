// What is proven before a body must still hold when the body has come: sessions, roles and bearers that end meanwhile.
import { expect, it } from "@effect/vitest"
import { Context, Effect } from "effect"
import { randomUUID } from "node:crypto"
import { connect } from "node:net"
import { Actor } from "../../../../src/domain/Actor.ts"
import { Enrollment } from "../../../../src/services/Enrollment.ts"
import { FleetDirectory } from "../../../../src/services/FleetDirectory.ts"
import { People } from "../../../../src/services/People.ts"
import { alice, bob, until } from "../../../layers/crossfire/World.ts"
import { encodeJson } from "./Ask.ts"
import { type DoorWorld, ownPage, root, start } from "./DoorWorld.ts"

const eventually = (what: string, holds: () => boolean) =>
  until(what, Effect.zipLeft(Effect.sync(holds), Effect.sleep("10 millis")))

/** A request whose body has begun. `ended` sends the rest, and tells the answer's status. */
const begin = (
  world: DoorWorld,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: unknown
) =>
  Effect.gen(function*() {
    const text = encodeJson(body)
    const socket = yield* Effect.acquireRelease(
      Effect.sync(() => connect(Number(new URL(world.url).port), "127.0.0.1")),
      (open) => Effect.sync(() => open.destroy())
    )
    socket.on("error", () => {})
    let heard = ""
    socket.on("data", (part: Buffer) => {
      heard += part.toString("latin1")
    })
    const lines = Object.entries({
      ...headers,
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(text)),
      // The server says so once it has looked at the headers, and hands the request on.
      expect: "100-continue"
    }).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n`)
    yield* eventually("the request is under way", () => heard.startsWith("HTTP/1.1 100"))
    socket.write(text.slice(0, 1))
    // Its credential is looked up while nothing else is done: another whole request comes after it.
    yield* world.ask({ path: "/healthz", headers: { host: ownPage.host } })
    const ended = Effect.gen(function*() {
      socket.write(text.slice(1))
      const status = () => /HTTP\/1\.1 ((?!100)\d{3})/u.exec(heard)?.[1]
      yield* eventually("it is answered", () => status() !== undefined)
      return Number(status())
    })
    return { ended }
  })

it.scopedLive("[A11] a person's change whose body comes after the session's end, or after a role was taken, is not made", () =>
  Effect.gen(function*() {
    const world = yield* start()
    const people = Context.get(world.context, People)
    const enrollment = Context.get(world.context, Enrollment)
    const operator = Actor.Operator()
    const admin = yield* world.person("administrator")

    const { claim, code, enrollmentId } = yield* world.filed(alice)
    const byAlice = { ...ownPage, ...(yield* world.session(alice)).headers }
    const byAdmin = { ...ownPage, ...(yield* world.session(admin)).headers }
    const { agentId } = yield* world.program(bob)
    const pending = [
      yield* begin(world, `/v1/requests/${enrollmentId}/approve`, byAlice, { code }),
      yield* begin(world, `/v1/requests/${enrollmentId}/reject`, byAdmin, {}),
      yield* begin(world, `/v1/agents/${agentId}/retire`, byAdmin, {}),
      yield* begin(world, "/v1/signup", byAdmin, { policy: "open" }),
      yield* begin(world, "/v1/invitations", byAdmin, { note: "", lastsMillis: 86_400_000 })
    ]
    yield* people.deactivate(operator, alice)
    yield* people.setRole(operator, admin, "member")
    expect(yield* Effect.forEach(pending, ({ ended }) => ended)).toStrictEqual(pending.map(() => 401))
    expect((yield* enrollment.state(claim)).state).toBe("pending")
    const look = { headers: (yield* world.session(root)).headers }
    expect((yield* world.asPage({ path: "/v1/signup", ...look })).body).toMatchObject({ policy: "invite" })
    expect((yield* world.asPage({ path: "/v1/invitations", ...look })).body).toStrictEqual([])
  }))

it.scopedLive("[A12] a program's request whose body comes after its bearer was revoked is refused", () =>
  Effect.gen(function*() {
    const world = yield* start()
    const fleets = Context.get(world.context, FleetDirectory)
    const program = yield* world.program(alice)
    const host = new URL(world.url).host
    const headers = (token: string) => ({ host, authorization: `Bearer ${token}`, ...program.stamp })
    const ofAgent = yield* begin(world, "/v1/agent/send", headers(program.tokens.agent), {
      roomId: "!none:cf.test",
      operationId: randomUUID(),
      text: "late",
      replyTo: null,
      mentions: []
    })
    const ofFleet = yield* begin(world, "/v1/fleet/notices", headers(program.tokens.fleet), {
      operationId: randomUUID(),
      text: "late"
    })
    yield* fleets.revokeFleetCredentials(Actor.Operator(), program.fleetId)
    expect(yield* ofFleet.ended).toBe(401)
    expect(yield* ofAgent.ended).toBe(401)
  }))

it.scopedLive("a body that takes its time is read once, and what still holds is done", () =>
  Effect.gen(function*() {
    const world = yield* start()
    const { code, enrollmentId } = yield* world.filed(alice)
    const mine = { ...ownPage, ...(yield* world.session(alice)).headers }
    const approving = yield* begin(world, `/v1/requests/${enrollmentId}/approve`, mine, { code })
    expect(yield* approving.ended).toBe(200)
  }))
