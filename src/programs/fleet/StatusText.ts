// A fleet's status for people: who runs, what waits, what was delivered last and where its proof lies.
import type { AgentStatus, DeliveryEntry, DeliveryState, FleetStatus } from "../../domain/api/FleetSocket.ts"

const none = "–"

/** Columns as wide as their widest cell. */
export const table = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd())
    .join("\n")
}

const clock = (millis: number): string =>
  new Intl.DateTimeFormat("sv-SE", {
    dateStyle: "short",
    timeStyle: "medium"
  }).format(millis)

const agentRow = (agent: AgentStatus): ReadonlyArray<string> => {
  const open = agent.contexts.flatMap(({ open }) => open === null ? [] : [open.state])
  const inputs = agent.contexts.reduce((sum, { waitingItems }) => sum + waitingItems, 0)
  const last = agent.contexts
    .flatMap(({ lastDelivery }) => lastDelivery === null ? [] : [lastDelivery])
    .toSorted((one, other) => other.confirmedAtMillis - one.confirmedAtMillis)
    .at(0)
  return [
    agent.name,
    agent.engine,
    agent.model,
    agent.paused ? `${agent.desired}, paused` : agent.desired,
    agent.session.state,
    agent.openWakes === null ? none : String(agent.openWakes),
    String(inputs),
    open.length === 0 ? none : open.join(", "),
    last === undefined ? none : `${clock(last.confirmedAtMillis)} (entry ${last.entry})`
  ]
}

const stops = {
  "too-large": "a message there is larger than can be read",
  malformed: "the homeserver gives something there that cannot be read",
  "not-advancing": "the homeserver gives the same page again and again"
} as const

const stopText = (agent: string, { eventId, name, reason, roomId }: AgentStatus["stoppedRooms"][number]): string =>
  `${agent}: the room ${name === null ? roomId : `${name} (${roomId})`} is not read on: ${stops[reason]}${
    eventId === null ? "" : ` (${eventId})`
  }. Nothing of it is lost; the other rooms go on`

const header = ["AGENT", "ENGINE", "MODEL", "WANTED", "SESSION", "WAKES", "INPUTS", "OPEN", "LAST DELIVERY"]

export const statusText = (status: FleetStatus): string => {
  const { acknowledgments, messages, notices } = status.outbox
  const head = table([
    ["fleetd", `process ${status.processId} in ${status.root}`],
    [
      "fleet",
      status.fleet === null
        ? "not enrolled yet"
        : `${status.fleet.fleetKey} of ${status.fleet.owner} at ${status.fleet.serverUrl}`
    ],
    [
      "lease",
      status.lease.state === "held"
        ? `held (generation ${status.lease.generation})`
        : status.lease.state === "credential-refused"
        ? `credential refused, nothing is delivered: ${status.lease.reason}`
        : `not held, nothing is delivered: ${status.lease.reason}`
    ],
    ["outbox", `${acknowledgments} acknowledgments, ${messages} messages, ${notices} notices wait for crossfire`]
  ])
  if (status.agents.length === 0) return `${head}\n\nNo agents yet.`
  const reasons = status.agents.flatMap(({ name, session, stoppedRooms }) => [
    ...(session.reason === null ? [] : [`${name}: ${session.reason}`]),
    ...stoppedRooms.map((room) => stopText(name, room))
  ])
  const histories = status.agents.flatMap(({ contexts, name }) =>
    contexts.flatMap(({ context, history }) => history === null ? [] : [[`${name} (${context})`, history]])
  )
  return [
    head,
    table([header, ...status.agents.map(agentRow)]),
    ...(reasons.length === 0 ? [] : [reasons.join("\n")]),
    ...(histories.length === 0 ? [] : [table([["HISTORY", "FILE"], ...histories])])
  ].join("\n\n")
}

export const deliveryText = (name: string, state: DeliveryState): string => {
  switch (state.state) {
    case "delivered":
      return `Delivered to ${name}: entry ${state.entry}${state.history === null ? "" : ` in ${state.history}`}`
    case "open":
      return `Stored for ${name}; on its way (${state.publication.state}), receipt not proven yet`
    case "waiting":
      return `Stored for ${name}; it is delivered as soon as the agent can take it. See: fleet status`
  }
}

const entryRow = (entry: DeliveryEntry): ReadonlyArray<string> => [
  clock(entry.preparedAtMillis),
  entry.agent,
  entry.kind,
  entry.state,
  entry.confirmedAtMillis === null ? none : `${entry.confirmedAtMillis - entry.preparedAtMillis} ms`,
  String(entry.events.length + entry.operations.length),
  entry.entry ?? none
]

export const deliveriesText = (entries: ReadonlyArray<DeliveryEntry>): string =>
  entries.length === 0
    ? "No input was made yet."
    : table([
      ["PREPARED", "AGENT", "KIND", "STATE", "PROVEN AFTER", "MESSAGES", "NATIVE ENTRY"],
      ...entries.map(entryRow)
    ])
