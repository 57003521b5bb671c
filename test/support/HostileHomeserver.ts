// A homeserver whose pages are scripted, one answer after another for each room, over real HTTP. Everything else that
// crossfire asks is answered as if all were well.
import { Effect, type Scope } from "effect"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { RoomId } from "../../src/domain/Ids.ts"

export interface PageAsked {
  readonly from: string
  readonly to: string | null
  readonly limit: number
  readonly as: string
  /** How many pages of this room were asked for before. */
  readonly index: number
}

export type PageScript = (asked: PageAsked, response: ServerResponse, request: IncomingMessage) => void

const json = { "content-type": "application/json" }

export const answer =
  (status: number, body: string, headers: Readonly<Record<string, string>> = {}): PageScript => (_asked, response) =>
    void response.writeHead(status, { ...json, ...headers }).end(body)

export const event = (id: string, fields = "", body = "hi"): string =>
  `{"event_id":"${id}","type":"m.room.message","sender":"@alice:cf.test"${fields},"content":{"msgtype":"m.text","body":"${body}"}}`

/** One event of a room; `bodyBytes` of it are made while they are sent, and are nowhere held. */
export interface Written {
  readonly id: string
  readonly bodyBytes?: number
}

const filling = Buffer.alloc(64 * 1024, "x")

const write = (response: ServerResponse, text: string | Buffer) =>
  new Promise<void>((resolve) => {
    if (response.destroyed) return resolve()
    response.once("close", resolve)
    response.write(text, () => {
      response.off("close", resolve)
      resolve()
    })
  })

/** A room that holds these and pages as a homeserver does; its first event stands behind the token `s0`. */
export const timeline = (written: ReadonlyArray<Written>): PageScript => async ({ from, limit }, response) => {
  const start = from.startsWith("t") ? Number(from.slice(1)) : 0
  const shown = written.slice(start, start + limit)
  response.writeHead(200, json)
  await write(response, `{"chunk":[`)
  for (const [index, { bodyBytes, id }] of shown.entries()) {
    if (index > 0) await write(response, ",")
    const [opening, closing] = event(id, "", "|").split("|")
    await write(response, opening ?? "")
    for (let left = bodyBytes ?? 10; left > 0 && !response.destroyed; left -= filling.length) {
      await write(response, filling.subarray(0, Math.min(left, filling.length)))
    }
    await write(response, closing ?? "")
  }
  const next = start + shown.length
  response.end(next < written.length ? `],"end":"t${next}"}` : "]}")
}

export interface HostileHomeserver {
  readonly baseUrl: string
  /** From here on; a room without a script has nothing. */
  readonly script: (roomId: RoomId, script: PageScript) => void
  /** Pages asked for, in this order. */
  readonly asked: (roomId: RoomId) => ReadonlyArray<PageAsked>
  /** Requests for pages that were not answered to their end yet. */
  readonly open: () => number
  readonly joined: Set<string>
}

const pagePath = /^\/_matrix\/client\/v3\/rooms\/([^/]+)\/messages$/u

export const make: Effect.Effect<HostileHomeserver, never, Scope.Scope> = Effect.gen(function*() {
  const scripts = new Map<string, PageScript>()
  const pages = new Map<string, Array<PageAsked>>()
  const joined = new Set<string>()
  let open = 0
  let token = 100

  const page = (roomId: string, query: URLSearchParams, request: IncomingMessage, response: ServerResponse) => {
    const before = pages.get(roomId) ?? []
    const asked: PageAsked = {
      from: query.get("from") ?? "",
      to: query.get("to"),
      limit: Number(query.get("limit")),
      as: query.get("user_id") ?? "",
      index: before.length
    }
    pages.set(roomId, [...before, asked])
    open += 1
    response.on("close", () => open -= 1)
    const script = scripts.get(roomId) ?? answer(200, `{"chunk":[]}`)
    script(asked, response, request)
  }

  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://homeserver")
    const room = pagePath.exec(pathname)?.[1]
    if (room !== undefined) return page(decodeURIComponent(room), searchParams, request, response)
    request.resume()
    const respond = (status: number, body: object) => response.writeHead(status, json).end(JSON.stringify(body))
    if (pathname.endsWith("/sync")) {
      token += 1
      return respond(200, { next_batch: `s${token}` })
    }
    if (pathname.includes("/state/")) return respond(404, { errcode: "M_NOT_FOUND" })
    if (pathname.endsWith("/joined_rooms")) return respond(200, { joined_rooms: [...joined] })
    if (pathname.endsWith("/members")) return respond(200, { chunk: [] })
    return respond(200, { event_id: "$answer", room_id: "!made", user_id: "@somebody:cf.test" })
  })
  yield* Effect.acquireRelease(
    Effect.async<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    }),
    () =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    script: (roomId, script) => void scripts.set(roomId, script),
    asked: (roomId) => pages.get(roomId) ?? [],
    open: () => open,
    joined
  }
})
