// What a roster asks for, entry by entry with every setting, and what of it deserves a second look. Whoever filed the request
// wrote these values.
import { Badge } from "@mantine/core"
import IconAlertTriangle from "@tabler/icons-react/dist/esm/icons/IconAlertTriangle.mjs"
import type { RequestDetail } from "../../domain/api/Management.ts"
import { displayName, type RosterAgent } from "../../domain/Roster.ts"
import { Outside, OutsideBlock, UserIdText } from "../parts/Outside.tsx"
import { visiblePieces } from "../VisibleText.ts"

const histories = {
  shared: "one conversation for all rooms",
  "per-room": "a conversation of its own for each room"
} as const
const engines = { codex: "Codex", pi: "Pi" } as const

const hasHidden = (text: string): boolean => visiblePieces(text, "\n\r\t").some(({ _tag }) => _tag === "Hidden")

/** Folders that hold far more than one agent's work. */
const wide = /^\/?$|^\/(?:home|root|etc|usr|var|opt|srv|tmp)\/?$|^\/home\/[^/]+\/?$/u

const warningsOf = (
  { existing, roster }: RequestDetail
): ReadonlyArray<{ key: string; name: string; text: string }> =>
  roster.agents.flatMap((agent) => {
    const found: Array<{ key: string; name: string; text: string }> = []
    const warn = (text: string) => found.push({ key: `${agent.key}:${text}`, name: agent.name, text })
    const before = existing.find(({ key }) => key === agent.key)
    if (before !== undefined && before.name !== agent.name) warn(`renames the agent that is now called ${before.name}`)
    if (wide.test(agent.work_folder)) warn("works in a folder that holds much more than one agent’s work")
    if (roster.agents.some((other) => other.key !== agent.key && other.work_folder === agent.work_folder)) {
      warn("shares its work folder with another agent of this request")
    }
    const texts = [agent.model, agent.effort ?? "", agent.work_folder, agent.instructions ?? ""]
    if (texts.some(hasHidden)) {
      warn("has characters that cannot be seen or turn the reading direction; they are written out below as U+…")
    }
    return found
  })

/** Until it is taken in it is read against what exists; what exists afterwards says nothing of it. */
export const isOpen = ({ state }: RequestDetail): boolean => state === "pending" || state === "approved"

export const Warnings = ({ request }: { readonly request: RequestDetail }) => {
  const warnings = warningsOf(request)
  const staying = request.existing.filter(({ key }) => request.roster.agents.every((agent) => agent.key !== key))
  if (!isOpen(request)) return null
  if (warnings.length === 0 && request.existing.length === 0) return null
  return (
    <section className="card caution" aria-labelledby="caution">
      <h2 id="caution">
        <IconAlertTriangle size={18} stroke={1.8} aria-hidden />
        Look twice
      </h2>
      <ul>
        {request.existing.length === 0 ? null : (
          <li>
            This owner has the fleet <strong>{request.fleetKey}</strong>{" "}
            already. If the request comes from another root folder of fleetd, the credentials of the former one end,
            also those of agents that are not in this request.
          </li>
        )}
        {staying.length === 0 ?
          null :
          <li>Not in this request, and left as they are: {staying.map(({ name }) => name).join(", ")}.</li>}
        {warnings.map(({ key, name, text }) => (
          <li key={key}>
            <strong>{name}</strong> {text}.
          </li>
        ))}
      </ul>
    </section>
  )
}

const Change = ({ agent, request }: { readonly agent: RosterAgent; readonly request: RequestDetail }) => {
  if (!isOpen(request)) return null
  const before = request.existing.find(({ key }) => key === agent.key)
  if (before === undefined) return <Badge variant="light" radius="sm" tt="none">New</Badge>
  return before.name === agent.name
    ? <Badge variant="default" radius="sm" tt="none">Exists, keeps its identity</Badge>
    : <Badge variant="light" color="red" radius="sm" tt="none">Exists as {before.name}, is renamed</Badge>
}

const counted = (count: number, one: string): string => count === 1 ? `1 ${one}` : `${count} ${one}s`
const linesOf = (text: string): number => text.replace(/\n$/u, "").split("\n").length

const Entry = ({ agent, index, request }: {
  readonly agent: RosterAgent
  readonly index: number
  readonly request: RequestDetail
}) => {
  const instructions = agent.instructions ?? ""
  const lines = linesOf(instructions)
  return (
    <li className="card entry">
      <header className="entry-head">
        <h3>
          <span className="entry-number">{index + 1}</span>
          {agent.name}
        </h3>
        <Change agent={agent} request={request} />
      </header>
      <dl className="facts">
        <div>
          <dt>Shown as</dt>
          <dd>
            <Outside text={displayName(agent.name, request.roster.owner)} />
          </dd>
        </div>
        <div>
          <dt>Key</dt>
          <dd className="mono">{agent.key}</dd>
        </div>
        <div>
          <dt>Engine</dt>
          <dd>{engines[agent.engine]}</dd>
        </div>
        <div>
          <dt>Model</dt>
          <dd>
            <Outside className="mono" text={agent.model} />
          </dd>
        </div>
        <div>
          <dt>Effort</dt>
          <dd>{agent.effort === null ? "the engine’s own" : <Outside className="mono" text={agent.effort} />}</dd>
        </div>
        <div>
          <dt>History</dt>
          <dd>{histories[agent.history_mode]}</dd>
        </div>
        <div>
          <dt>Who can wake it</dt>
          <dd>
            only <UserIdText userId={request.roster.owner} />
          </dd>
        </div>
        <div className="wide">
          <dt>Works in</dt>
          <dd>
            <Outside className="mono" text={agent.work_folder} />
          </dd>
        </div>
        <div className="wide">
          <dt>
            Instructions
            {instructions === "" ? null : (
              <span className="fine">
                {` · ${counted(lines, "line")}, ${counted(instructions.length, "character")}`}
              </span>
            )}
          </dt>
          <dd>
            {instructions === ""
              ? "none"
              : <OutsideBlock label={`Instructions of ${agent.name}`} text={instructions} />}
          </dd>
        </div>
      </dl>
    </li>
  )
}

export const RosterEntries = ({ request }: { readonly request: RequestDetail }) => (
  <section aria-labelledby="entries">
    <h2 id="entries" className="section-title">
      {request.roster.agents.length === 1 ? "The one agent" : `The ${request.roster.agents.length} agents`}
    </h2>
    <ol className="entries">
      {request.roster.agents.map((agent, index) => (
        <Entry key={agent.key} agent={agent} index={index} request={request} />
      ))}
    </ol>
  </section>
)
