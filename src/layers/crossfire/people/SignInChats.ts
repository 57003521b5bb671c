// Whether the bot may write to a person because somebody asked for a link in that name: freely where the two have a chat, and
// seldom where one would have to be opened. Anybody may ask, and nobody is to be pestered with invitations by it.
import { Effect } from "effect"
import type { UserId } from "../../../domain/Ids.ts"
import { botUser } from "../../../domain/SystemUsers.ts"
import { Instance } from "../../../services/Instance.ts"
import { Matrix } from "../../../services/Matrix.ts"
import { BotRooms } from "../../../services/store/BotRooms.ts"
import * as AttemptWindow from "../enrollment/AttemptWindow.ts"

const hourMillis = 60 * 60 * 1000
/** Chats opened by asks: with everybody in a quarter of an hour, with one person in a day. */
export const maxNewChats = 20
export const maxNewChatsPerPerson = 3
const maxPeopleCounted = 10_000

export const make = Effect.gen(function*() {
  const matrix = yield* Matrix
  const botRooms = yield* BotRooms
  const bot = botUser((yield* Instance).serverName)
  const opened = AttemptWindow.make({ maxKeys: 1, windowMillis: hourMillis / 4 })
  const openedWith = AttemptWindow.make({ maxKeys: maxPeopleCounted, windowMillis: 24 * hourMillis })

  const isThere = (userId: UserId) =>
    Effect.gen(function*() {
      for (const room of yield* botRooms.all) {
        if (room.person !== userId || room.state !== "joined") continue
        const members = yield* matrix.members(bot, room.roomId).pipe(
          Effect.catchTag("MatrixRefused", () => Effect.succeed([]))
        )
        if (members.some((member) => member.userId === userId)) return true
      }
      return false
    })

  return {
    mayWriteTo: (userId: UserId) =>
      Effect.gen(function*() {
        if (yield* isThere(userId)) return true
        if ((yield* openedWith.add(userId)).count > maxNewChatsPerPerson) return false
        return (yield* opened.add("all")).count <= maxNewChats
      })
  }
})
