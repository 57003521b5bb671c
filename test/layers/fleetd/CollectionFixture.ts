// What the collector's tests share: one agent, its lease, numbered records, and a level of rooms.
import { FleetAgent } from "../../../src/domain/FleetAgent.ts"
import { EventId, Generation, Incarnation, type RoomId, StreamToken } from "../../../src/domain/Ids.ts"
import { Level, LevelRoom, RoomRecord } from "../../../src/domain/Level.ts"
import { RegisteredName } from "../../../src/domain/Roster.ts"
import { smallFleet } from "../../support/FleetFile.ts"
import { owner } from "../../support/RoomsCrossfire.ts"

const incarnation = Incarnation.make("00000000-0000-4000-8000-0000000000aa")
export const stamp = { generation: Generation.make(1), incarnation }

const [enrolled] = smallFleet().agents
if (enrolled === undefined) throw new Error("no agent")
export const agent = new FleetAgent({
  ...enrolled.agent,
  enabled: true,
  paused: false,
  problem: null,
  retired: false,
  credentialRefused: false
})

export const eventOf = (roomId: RoomId, at: number) => EventId.make(`$${roomId.slice(1)}-${at}`)

export const recordOf = (roomId: RoomId, at: number, kind: RoomRecord["kind"] = "wake") =>
  new RoomRecord({
    eventId: eventOf(roomId, at),
    roomId,
    kind,
    sender: owner,
    senderRole: "owner",
    senderAgent: null,
    displayName: null,
    sentAtMillis: null,
    type: "m.room.message",
    form: "message",
    text: `text ${at}`,
    replyTo: null,
    relatesTo: null
  })

/** All rooms begin at `s0` and have decisions up to 7. */
export const levelOf = (rooms: ReadonlyArray<RoomId>) =>
  new Level({
    agentId: agent.agentId,
    name: RegisteredName.make("editor"),
    standing: "active",
    incarnation,
    number: 1,
    authorityRevision: 1,
    wakes: [],
    rooms: rooms.map((roomId) =>
      new LevelRoom({ roomId, name: null, isDirect: false, boundary: StreamToken.make("s0"), latest: 7 })
    ),
    redactions: []
  })
