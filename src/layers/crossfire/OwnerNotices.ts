// What people are told about rooms that agents or the bot cannot take part in: each thing once, by the bot.
import { Effect } from "effect"
import { createHash } from "node:crypto"
import type { RoomId, UserId } from "../../domain/Ids.ts"
import { Outbound } from "../../services/Outbound.ts"
import type { Agent } from "../../services/store/Agents.ts"
import { Participations } from "../../services/store/Participations.ts"
import type { ReadingFailure } from "../../services/store/SweepPositions.ts"
import { maxEventBytes } from "./BoundedPage.ts"

const stopReasons: Readonly<Record<ReadingFailure["reason"], string>> = {
  "too-large": `the next event there is larger than ${maxEventBytes / 1024 / 1024} MiB.`,
  malformed: "the homeserver's answer there is not what an event looks like.",
  "not-advancing": "the homeserver's answer there leads back to where it began."
}

/** An ID that comes from an answer which is not trusted, within backticks on one line. */
const code = (id: string): string => id.replace(/[^!-_a-~]/gu, "?")

export const make = Effect.gen(function*() {
  const outbound = yield* Outbound
  const participations = yield* Participations

  const tell = (agent: Agent, roomId: RoomId, topic: string, text: string) =>
    outbound.notice({ to: { recipient: agent.owner }, operationId: `${topic}:${agent.agentId}:${roomId}`, text })

  const encrypted = (agent: Agent, roomId: RoomId) =>
    tell(
      agent,
      roomId,
      "encrypted",
      `\`${agent.name}\` cannot take part in the encrypted room \`${roomId}\`: agents read unencrypted rooms only. ` +
        "Use a room without encryption."
    )

  return {
    encrypted,
    /** Encryption was switched on in a room where agents are already. */
    encryptedLater: (roomId: RoomId) =>
      Effect.flatMap(
        participations.inRoom(roomId),
        (members) =>
          Effect.forEach(members.filter(({ standing }) => standing.membership === "joined"), ({ agent }) =>
            encrypted(agent, roomId), { discard: true })
      ),
    /** Someone wrote to the bot in a chat that it cannot read. */
    encryptedChat: ({ inviter, roomId }: { readonly inviter: UserId; readonly roomId: RoomId }) =>
      outbound.notice({
        to: { recipient: inviter },
        operationId: `encrypted-chat:${roomId}`,
        text: "The chat that you opened with me is encrypted, and I cannot read it. Write to me here."
      }),
    /** The room was replaced by another one, where agents are not. */
    upgraded: (roomId: RoomId) =>
      Effect.flatMap(
        participations.inRoom(roomId),
        (members) =>
          Effect.forEach(members.filter(({ standing }) => standing.membership === "joined"), ({ agent }) =>
            tell(
              agent,
              roomId,
              "upgraded",
              `The room \`${roomId}\` was replaced by a new one. \`${agent.name}\` stays in the old room: to have it in ` +
                `the new one, invite \`${agent.userId}\` there.`
            ), { discard: true })
      ),
    /** Reading stopped at a page that cannot be taken. Told once for each place. */
    stopped: (agents: ReadonlyArray<Agent>, roomId: RoomId, failure: ReadingFailure, place: string) =>
      Effect.forEach(agents, (agent) =>
        tell(
          agent,
          roomId,
          `stopped:${createHash("sha256").update(failure.eventId ?? place).digest("hex").slice(0, 32)}`,
          `\`${agent.name}\` gets nothing new of the room \`${roomId}\`: ${stopReasons[failure.reason]}${
            failure.eventId === null ? "" : ` The event is \`${code(failure.eventId)}\`.`
          } Nothing is left out: reading is tried again at this place, and goes on where it can be read. The other rooms ` +
            "are not concerned."
        ), { discard: true }),
    held: (agent: Agent, roomId: RoomId, inviter: UserId) =>
      tell(
        agent,
        roomId,
        "held",
        `\`${inviter}\` invited \`${agent.name}\` to the room \`${roomId}\`. The invitation waits: only ` +
          `\`${agent.owner}\` or an administrator of this server can bring \`${agent.name}\` into a room. To accept, ` +
          `invite \`${agent.userId}\` there yourself.`
      )
  }
})

export type OwnerNotices = Effect.Effect.Success<typeof make>
