// The address that a request came from, by which it is counted. It is the connection's own, unless that is a proxy which the
// operator named: then it is what that proxy says. Nothing else that a request says of its way is read.
import { isIP, isIPv6 } from "node:net"

const mapped = /^::ffff:(?=\d+\.)/iu

const plain = (address: string): string => address.trim().replace(mapped, "").toLowerCase()

const groups = 8

/** One subscriber of IPv6 has a whole /64: its addresses count as one. */
const network = (address: string): string => {
  if (!isIPv6(address)) return address
  const [head = "", tail] = (address.split("%")[0] ?? "").split("::")
  const before = head === "" ? [] : head.split(":")
  const after = tail === undefined || tail === "" ? [] : tail.split(":")
  const zeros = Array.from({ length: Math.max(0, groups - before.length - after.length) }, () => "0")
  const all = tail === undefined ? before : [...before, ...zeros, ...after]
  return `${all.slice(0, 4).map((group) => group.replace(/^0+(?=.)/u, "")).join(":")}::/64`
}

export interface Way {
  readonly connection: string | undefined
  /** The `X-Forwarded-For` header. */
  readonly forwarded: string | undefined
}

/**
 * The right-most entry that no trusted proxy wrote about another trusted proxy: everything left of it may be the client's
 * own invention.
 */
export const peerOf = (trusted: ReadonlySet<string>, { connection, forwarded }: Way): string => {
  let peer = plain(connection ?? "")
  if (isIP(peer) === 0) return "unknown"
  const entries = forwarded?.split(",") ?? []
  while (trusted.has(peer)) {
    const entry = entries.pop()
    if (entry === undefined) break
    const next = plain(entry)
    if (isIP(next) === 0) break
    peer = next
  }
  return network(peer)
}

export const trustedOf = (proxies: ReadonlyArray<string>): ReadonlySet<string> => new Set(proxies.map(plain))
