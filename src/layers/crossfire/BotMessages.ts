// Hands what people write to the bot to `BotConversation`: in order, each message once, whatever is read again.
import { Effect } from "effect"
import type { RoomId } from "../../domain/Ids.ts"
import { isEdit, isRedacted, type MatrixEvent, messageText } from "../../domain/MatrixEvent.ts"
import { BotConversation } from "../../services/BotConversation.ts"
import { CrossfireDb } from "../../services/Database.ts"
import { namespacePrefix } from "../../services/Matrix.ts"
import { BotRooms } from "../../services/store/BotRooms.ts"

/** Longer messages are no conversation; their first part is handed on. */
const maxTextLength = 10_000

const isWritten = (event: MatrixEvent): boolean =>
  event.type === "m.room.message" && event.state_key === undefined && !isEdit(event) && !isRedacted(event) &&
  event.content["msgtype"] === "m.text" && !event.sender.startsWith(`@${namespacePrefix}`)

export const make = Effect.gen(function*() {
  const { transaction } = yield* CrossfireDb
  const botRooms = yield* BotRooms
  const conversation = yield* BotConversation

  const handleOne = (roomId: RoomId, event: MatrixEvent, text: string) =>
    transaction(Effect.gen(function*() {
      if (!(yield* botRooms.handle(roomId, event.event_id))) return
      yield* conversation.handle({
        eventId: event.event_id,
        roomId,
        sender: event.sender,
        text: text.slice(0, maxTextLength).toWellFormed()
      })
    })).pipe(
      // A message that breaks the conversation is put aside, or it would come again for ever and stop the room.
      Effect.catchAllDefect((defect) =>
        Effect.zipRight(
          // The defect's own text may quote the message.
          Effect.logError("a message to the bot could not be handled").pipe(
            Effect.annotateLogs({ eventId: event.event_id, defect: defect instanceof Error ? defect.name : "unknown" })
          ),
          Effect.asVoid(botRooms.handle(roomId, event.event_id))
        )
      )
    )

  return {
    handle: (roomId: RoomId, events: ReadonlyArray<MatrixEvent>) =>
      Effect.forEach(events.filter(isWritten), (event) => {
        const text = messageText(event)
        return text === null ? Effect.void : handleOne(roomId, event, text)
      }, { discard: true })
  }
})
