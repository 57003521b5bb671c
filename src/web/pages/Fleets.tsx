// The overview: every fleet of this person (for administrators all), who runs it, and its agents.
import { ActionIcon, Menu, TextInput } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import IconDots from "@tabler/icons-react/dist/esm/icons/IconDots.mjs"
import IconKeyOff from "@tabler/icons-react/dist/esm/icons/IconKeyOff.mjs"
import IconSearch from "@tabler/icons-react/dist/esm/icons/IconSearch.mjs"
import IconServer2 from "@tabler/icons-react/dist/esm/icons/IconServer2.mjs"
import IconStack2 from "@tabler/icons-react/dist/esm/icons/IconStack2.mjs"
import { Option } from "effect"
import { useState } from "react"
import type { AgentView, FleetView } from "../../domain/api/Management.ts"
import { useAct } from "../Act.ts"
import { Api, fleets } from "../Api.ts"
import { AskDialog } from "../parts/AskDialog.tsx"
import { CopyBlock, CopyLine } from "../parts/Copy.tsx"
import { sayDone } from "../parts/Done.ts"
import { Empty } from "../parts/Empty.tsx"
import { Loaded } from "../parts/Loaded.tsx"
import { Outside, UserIdText } from "../parts/Outside.tsx"
import { Page } from "../parts/Page.tsx"
import { State } from "../parts/State.tsx"
import { useSession } from "../Session.ts"
import { AgentRow } from "./AgentRow.tsx"

/** From so many agents on, a field to find one. */
const filterFrom = 8

const exampleRoster = (owner: string): string =>
  [
    "fleet = \"workshop\"",
    `owner = "${owner}"`,
    "",
    "[[agent]]",
    "key = \"editor\"",
    "name = \"editor\"",
    "engine = \"codex\"",
    "model = \"MODEL\"",
    "work_folder = \"~/work/editor\"",
    "instructions = \"Check every draft before it leaves.\""
  ].join("\n")

const Newcomer = ({ userId }: { readonly userId: string }) => (
  <Empty icon={IconStack2} title="No fleet yet">
    <p>A fleet is a set of coding agents that run on a machine of yours. To bring one here, on that machine:</p>
    <ol className="steps">
      <li>
        Make the fleet’s folder: <CopyLine text="fleet init" what="the command" />
      </li>
      <li>
        Write its agents into a file <code>roster.toml</code>, one entry each. Name a model that your engine offers.
        <CopyBlock text={exampleRoster(userId)} what="the example of a roster" />
      </li>
      <li>
        Ask for them to be taken in:{" "}
        <CopyLine text={`fleet enroll roster.toml --server ${location.origin}`} what="the command" />
      </li>
      <li>The request appears under “Requests”. Read it there, and approve it with the code that the command shows.</li>
    </ol>
  </Empty>
)

/** What gives a fleet whose credentials were revoked new ones. */
const GoOn = () => (
  <p>
    <strong>To go on</strong>, on the fleet’s machine: <code>fleet down</code>, then{" "}
    <code>fleet enroll ROSTER --again --new-credentials</code>{" "}
    with the path of its roster. Its owner approves that request here.
  </p>
)

const RevokeFleet = ({ close, fleet }: { readonly fleet: FleetView; readonly close: () => void }) => {
  const revoke = useAct(Api.mutation("fleets", "revokeCredentials"))
  const doIt = async () => {
    const answer = await revoke.run({ path: { fleetId: fleet.fleetId }, payload: {}, reactivityKeys: ["fleets"] })
    if (Option.isNone(answer)) return
    sayDone(`The credentials of the fleet ${fleet.key} are revoked`)
    close()
  }
  return (
    <AskDialog
      close={close}
      title={<>Revoke all credentials of “{fleet.key}”?</>}
      does="Revoke all"
      danger
      doing={() => void doIt()}
      act={revoke}
    >
      <p>
        The fleet’s credential and those of its {fleet.agents.length}{" "}
        agents end at once, open connections with them. Its agents get no messages until it has new ones.
      </p>
      <GoOn />
    </AskDialog>
  )
}

const matches = (agent: AgentView, sought: string): boolean =>
  agent.name.includes(sought) || agent.userId.toLowerCase().includes(sought) ||
  agent.displayName.toLowerCase().includes(sought)

const FleetCard = ({ fleet, sought }: { readonly fleet: FleetView; readonly sought: string }) => {
  const { userId } = useSession()
  const [opened, dialog] = useDisclosure(false)
  const shown = fleet.agents.filter((agent) => sought === "" || matches(agent, sought))
  const active = shown.filter(({ standing }) => standing === "active")
  const retired = shown.filter(({ standing }) => standing === "retired")
  if (sought !== "" && shown.length === 0) return null
  return (
    <section className="card" aria-labelledby={`fleet-${fleet.fleetId}`}>
      <header className="card-head">
        <div>
          <h2 id={`fleet-${fleet.fleetId}`}>{fleet.key}</h2>
          {fleet.owner === userId ? null : (
            <p className="card-sub">
              of <UserIdText userId={fleet.owner} />
            </p>
          )}
        </div>
        <div className="card-state">
          {fleet.credential === "revoked"
            ? <State tone="bad" text="Credentials revoked" />
            : fleet.controller === null
            ? <State tone="quiet" text="Not running" />
            : (
              <>
                <State tone="good" text="Running" />
                <span className="controller">
                  <IconServer2 size={14} stroke={1.7} aria-hidden />
                  <Outside className="mono" text={fleet.controller} />
                </span>
              </>
            )}
        </div>
        <Menu position="bottom-end" width={220} withinPortal>
          <Menu.Target>
            <ActionIcon variant="subtle" color="gray" aria-label={`More about the fleet ${fleet.key}`}>
              <IconDots size={18} aria-hidden />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item
              className="danger-item"
              leftSection={<IconKeyOff size={16} stroke={1.7} aria-hidden />}
              disabled={fleet.credential === "revoked"}
              onClick={dialog.open}
            >
              Revoke all credentials
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </header>
      {fleet.credential !== "revoked" ? null : (
        <div className="card-next">
          <GoOn />
        </div>
      )}
      {active.length === 0 ?
        <p className="card-none">No active agents.</p> :
        (
          <ul className="rows" aria-label={`Agents of ${fleet.key}`}>
            {active.map((agent) => <AgentRow key={agent.agentId} agent={agent} fleet={fleet} />)}
          </ul>
        )}
      {retired.length === 0 ? null : (
        <details className="retired">
          <summary>{retired.length} retired</summary>
          <ul className="rows" aria-label={`Retired agents of ${fleet.key}`}>
            {retired.map((agent) => <AgentRow key={agent.agentId} agent={agent} fleet={fleet} />)}
          </ul>
        </details>
      )}
      {opened ? <RevokeFleet fleet={fleet} close={dialog.close} /> : null}
    </section>
  )
}

const List = ({ views }: { readonly views: ReadonlyArray<FleetView> }) => {
  const { userId } = useSession()
  const [typed, setTyped] = useState("")
  const sought = typed.trim().toLowerCase()
  const agents = views.reduce((sum, fleet) => sum + fleet.agents.length, 0)
  const own = views.filter(({ owner }) => owner === userId)
  const others = views.filter(({ owner }) => owner !== userId)
  if (views.length === 0) return <Newcomer userId={userId} />
  const found = agents -
    views.reduce(
      (sum, fleet) => sum + fleet.agents.filter((agent) => sought !== "" && !matches(agent, sought)).length,
      0
    )
  return (
    <div className="stack-lg">
      {agents < filterFrom ? null : (
        <div>
          <TextInput
            type="search"
            aria-label="Find an agent"
            placeholder="Find an agent by name or Matrix ID"
            leftSection={<IconSearch size={16} stroke={1.7} aria-hidden />}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
          <p className="found" role="status">{sought === "" ? "" : `${found} of ${agents} agents`}</p>
        </div>
      )}
      {own.map((fleet) => <FleetCard key={fleet.fleetId} fleet={fleet} sought={sought} />)}
      {others.map((fleet) => <FleetCard key={fleet.fleetId} fleet={fleet} sought={sought} />)}
    </div>
  )
}

export const Fleets = () => (
  <Page
    title="Fleets"
    lead="Agents take part in no room by themselves: invite each where you want it, by its Matrix ID."
  >
    <Loaded atom={fleets}>{(views) => <List views={views} />}</Loaded>
  </Page>
)
