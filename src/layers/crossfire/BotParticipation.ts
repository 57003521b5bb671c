// The bot's direct chats: invitations from this server's people are accepted, all others turned down, and what the
// homeserver says of its rooms is brought in line with what is stored.
import { Effect, Option } from "effect"
import type { RoomId, StreamToken, UserId } from "../../domain/Ids.ts"
import { botUser, serverOf } from "../../domain/SystemUsers.ts"
import { CrossfireDb } from "../../services/Database.ts"
import { Instance } from "../../services/Instance.ts"
import { type Invitation, Matrix, namespacePrefix } from "../../services/Matrix.ts"
import { BotRooms } from "../../services/store/BotRooms.ts"
import { Rooms } from "../../services/store/Rooms.ts"
import { SweepPositions } from "../../services/store/SweepPositions.ts"
import { SweepQueue } from "../../services/SweepQueue.ts"

export const make = Effect.gen(function*() {
  const matrix = yield* Matrix
  const { transaction } = yield* CrossfireDb
  const botRooms = yield* BotRooms
  const positions = yield* SweepPositions
  const rooms = yield* Rooms
  const queue = yield* SweepQueue
  const { serverName } = yield* Instance
  const bot = botUser(serverName)

  const isPerson = (user: UserId): boolean => serverOf(user) === serverName && !user.startsWith(`@${namespacePrefix}`)

  /** The bot is in the room with this person: it is read from the boundary on. */
  const enter = (roomId: RoomId, person: UserId, boundary: StreamToken) =>
    Effect.zipRight(
      transaction(Effect.gen(function*() {
        yield* botRooms.put({ roomId, person, state: "joined", boundary })
        yield* botRooms.made(person)
        yield* rooms.learn(roomId, { name: null, visibility: "shared", encrypted: false, isDirect: true })
        yield* positions.split(roomId, bot, boundary)
      })),
      queue.rooms([roomId])
    )

  const leave = (roomId: RoomId) => transaction(Effect.zipRight(botRooms.remove(roomId), positions.remove(roomId, bot)))

  const join = (roomId: RoomId, person: UserId, boundary: StreamToken) =>
    matrix.join(bot, roomId).pipe(
      Effect.zipRight(enter(roomId, person, boundary)),
      Effect.catchTag("MatrixRefused", () => leave(roomId))
    )

  const answer = (invitation: Invitation) =>
    Effect.gen(function*() {
      const { inviter, roomId } = invitation
      if (!invitation.isDirect || !isPerson(inviter)) {
        yield* matrix.leave(bot, roomId)
        return []
      }
      if (invitation.encrypted) {
        yield* matrix.leave(bot, roomId)
        return [invitation]
      }
      const known = yield* botRooms.get(roomId)
      const boundary = Option.isSome(known) ? known.value.boundary : yield* matrix.boundary
      yield* botRooms.put({ roomId, person: inviter, state: "joining", boundary })
      yield* join(roomId, inviter, boundary)
      return []
    })

  /** The one person with whom the bot is alone in a room, or nothing where it is another kind of room. */
  const onlyPerson = (roomId: RoomId) =>
    Effect.map(matrix.members(bot, roomId), (members) => {
      const others = members.map((member) => member.userId).filter((user) => user !== bot)
      const [person] = others
      return others.length === 1 && person !== undefined && isPerson(person) ? Option.some(person) : Option.none()
    })

  /** A room that was made and not written down before crossfire ended. */
  const recover = (roomId: RoomId) =>
    Effect.gen(function*() {
      const person = yield* onlyPerson(roomId)
      if (Option.isNone(person)) return
      const wanted = yield* botRooms.wanted(person.value)
      yield* enter(roomId, person.value, Option.isSome(wanted) ? wanted.value : yield* matrix.boundary)
    })

  /** Answers the invitations that were turned down because their rooms are encrypted. */
  const look = Effect.gen(function*() {
    const invitations = yield* matrix.invitations(bot)
    const joined = new Set(yield* matrix.joinedRooms(bot))
    const invited = new Set(invitations.map((invitation) => invitation.roomId))
    const known = yield* botRooms.all
    for (const room of known) {
      if (joined.has(room.roomId)) {
        if (room.state === "joining") yield* enter(room.roomId, room.person, room.boundary)
      } else if (!invited.has(room.roomId)) {
        yield* leave(room.roomId)
      }
    }
    for (const roomId of joined) {
      if (!known.some((room) => room.roomId === roomId)) yield* recover(roomId)
    }
    return (yield* Effect.forEach(invitations, answer)).flat()
  })

  /** The bot's chat with this person, made and written down when there is none. */
  const roomWith = (person: UserId) =>
    Effect.gen(function*() {
      const known = (yield* botRooms.all).filter((room) => room.person === person && room.state === "joined")
      for (const room of known) {
        // Refused: the bot was removed there, and the person gets another chat.
        const members = yield* matrix.members(bot, room.roomId).pipe(
          Effect.catchTag("MatrixRefused", () => Effect.succeed([]))
        )
        if (members.some((member) => member.userId === person)) return room.roomId
      }
      const wanted = yield* botRooms.wanted(person)
      if (Option.isSome(wanted)) {
        // An attempt was under way before: its room may be there already.
        for (const roomId of yield* matrix.joinedRooms(bot)) {
          if (Option.contains(yield* onlyPerson(roomId), person)) {
            yield* enter(roomId, person, wanted.value)
            return roomId
          }
        }
      }
      const boundary = Option.isSome(wanted) ? wanted.value : yield* matrix.boundary
      yield* botRooms.want(person, boundary)
      const roomId = yield* matrix.createDirectRoom(bot, person, "crossfire")
      yield* enter(roomId, person, boundary)
      return roomId
    })

  return { look, roomWith }
})

export type BotParticipation = Effect.Effect.Success<typeof make>
