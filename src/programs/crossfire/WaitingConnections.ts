// Makes room on a full listener: connections that hold their place without need are closed, the longest at it first. So
// whoever opens connections and says nothing, sends no body or reads no answer takes no place from those who ask something,
// the homeserver above all.
import type { IncomingMessage, Server } from "node:http"
import type { Socket } from "node:net"

interface Connection {
  /** Which change of any connection was the last of this one. */
  since: number
  /** Requests that are not answered in full. */
  underWay: number
  request: IncomingMessage | null
}

/** A connection that just came is about to ask: so many later changes make it one that waits. */
const freshChanges = 64

/** `most` is below the listener's own limit: between the two there is room for new ones while old ones close. */
export const keepRoom = (server: Server, most: number): void => {
  // A map keeps the order of the last changes.
  const connections = new Map<Socket, Connection>()
  let changes = 0

  const changed = (socket: Socket, connection: Connection) => {
    changes += 1
    connection.since = changes
    connections.delete(socket)
    connections.set(socket, connection)
  }

  const longest = (holds: (connection: Connection, socket: Socket) => boolean): Socket | undefined => {
    for (const [socket, connection] of connections) {
      if (holds(connection, socket)) return socket
    }
    return undefined
  }

  const waits = ({ underWay }: Connection) => underWay === 0
  const waitsLong = (connection: Connection) => waits(connection) && changes - connection.since >= freshChanges
  /** A body that has not come, or an answer that the other side does not read. */
  const stalls = ({ request, underWay }: Connection, { writableLength }: Socket) =>
    underWay > 0 && (request?.complete !== true || writableLength > 0)

  server.on("connection", (socket) => {
    socket.once("close", () => connections.delete(socket))
    if (connections.size >= most) {
      const leaving = longest(waitsLong) ?? longest(stalls) ?? longest(waits)
      if (leaving !== undefined) {
        connections.delete(leaving)
        leaving.destroy()
      }
    }
    changed(socket, { since: 0, underWay: 0, request: null })
  })
  server.on("request", (request, response) => {
    const { socket } = request
    const connection = connections.get(socket)
    if (connection === undefined) return
    connection.underWay += 1
    connection.request = request
    changed(socket, connection)
    response.once("close", () => {
      connection.underWay -= 1
      if (connections.has(socket)) changed(socket, connection)
    })
  })
}
