// Makes room on a full listener: connections on which no request is under way are closed, the one that waits longest first.
// So whoever opens connections and says nothing takes no place from those who ask something, the homeserver above all.
import type { Server } from "node:http"
import type { Socket } from "node:net"

/** `most` is below the listener's own limit: between the two there is room for new ones while old ones close. */
export const keepRoom = (server: Server, most: number): void => {
  // A map keeps the order in which they began to wait.
  const waiting = new Map<Socket, true>()
  let open = 0

  server.on("connection", (socket) => {
    open += 1
    waiting.set(socket, true)
    socket.once("close", () => {
      open -= 1
      waiting.delete(socket)
    })
    if (open <= most) return
    const [oldest] = waiting.keys()
    if (oldest !== undefined && oldest !== socket) {
      waiting.delete(oldest)
      oldest.destroy()
    }
  })
  server.on("request", ({ socket }, response) => {
    waiting.delete(socket)
    response.once("close", () => {
      if (!socket.destroyed) waiting.set(socket, true)
    })
  })
}
