import { expect, it } from "@effect/vitest"
import type { AgentStatus, FleetStatus } from "../../../src/domain/api/FleetSocket.ts"
import { AgentId, Generation, RoomId, UserId } from "../../../src/domain/Ids.ts"
import { RegisteredName } from "../../../src/domain/Roster.ts"
import { statusText } from "../../../src/programs/fleet/StatusText.ts"

const agent: AgentStatus = {
  agentId: AgentId.make("00000000-0000-4000-8000-000000000001"),
  name: RegisteredName.make("editor"),
  userId: UserId.make("@cf-0000000000000001:example.org"),
  engine: "codex",
  model: "some-model",
  desired: "started",
  paused: false,
  session: { state: "sleeping", reason: null },
  openWakes: 1,
  stoppedRooms: [],
  contexts: []
}

const status = (of: AgentStatus): FleetStatus => ({
  protocol: 1,
  processId: 1,
  root: "/root",
  fleet: null,
  lease: { state: "held", generation: Generation.make(1) },
  outbox: { acknowledgments: 0, messages: 0, notices: 0 },
  agents: [of]
})

it("[M-06] a room that cannot be read on is named, with why and where", () => {
  const text = statusText(status({
    ...agent,
    stoppedRooms: [
      { roomId: RoomId.make("!big"), name: "Texts", reason: "too-large", eventId: "$huge" },
      { roomId: RoomId.make("!odd"), name: null, reason: "malformed", eventId: null }
    ]
  }))
  expect(text).toContain(
    "editor: the room Texts (!big) is not read on: a message there is larger than can be read ($huge)"
  )
  expect(text).toContain(
    "editor: the room !odd is not read on: the homeserver gives something there that cannot be read."
  )
  expect(statusText(status(agent))).not.toContain("not read on")
})
