// One agent of a fleet: who it is, how it stands, and what can be done with it.
import { ActionIcon, Badge, Menu } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import IconArchive from "@tabler/icons-react/dist/esm/icons/IconArchive.mjs"
import IconDots from "@tabler/icons-react/dist/esm/icons/IconDots.mjs"
import IconExternalLink from "@tabler/icons-react/dist/esm/icons/IconExternalLink.mjs"
import IconKeyOff from "@tabler/icons-react/dist/esm/icons/IconKeyOff.mjs"
import IconPencil from "@tabler/icons-react/dist/esm/icons/IconPencil.mjs"
import IconUserPlus from "@tabler/icons-react/dist/esm/icons/IconUserPlus.mjs"
import type { AgentView, FleetView } from "../../domain/api/Management.ts"
import { CopyIcon } from "../parts/Copy.tsx"
import { Outside, UserIdText } from "../parts/Outside.tsx"
import { State } from "../parts/State.tsx"
import { matrixTo } from "../VisibleText.ts"
import { Permissions, Rename, Retire, RevokeCredential } from "./AgentDialogs.tsx"

const engines = { codex: "Codex", pi: "Pi" } as const

const stateOf = (agent: AgentView, fleet: FleetView) => {
  if (agent.standing === "retired") return <State tone="quiet" text="Retired" />
  if (agent.credential === "revoked") return <State tone="bad" text="Credential revoked" />
  return fleet.controller === null
    ? <State tone="quiet" text="Waits for its fleet" />
    : <State tone="good" text="Its fleet runs" />
}

export const AgentRow = ({ agent, fleet }: { readonly agent: AgentView; readonly fleet: FleetView }) => {
  const [renaming, rename] = useDisclosure(false)
  const [permitting, permit] = useDisclosure(false)
  const [revoking, revoke] = useDisclosure(false)
  const [retiring, retire] = useDisclosure(false)
  return (
    <li className="row agent-row">
      <div className="agent-who">
        <span className="agent-name">{agent.name}</span>
        <span className="agent-shown">
          shown as <Outside text={agent.displayName} />
        </span>
        {agent.mayInviteAgents ? <span className="agent-may">May invite agents</span> : null}
      </div>
      <div className="agent-id">
        <UserIdText userId={agent.userId} />
        <CopyIcon text={agent.userId} what={`the Matrix ID of ${agent.name}`} />
        <ActionIcon
          component="a"
          variant="subtle"
          color="gray"
          size="sm"
          href={matrixTo(agent.userId)}
          target="_blank"
          rel="noreferrer"
          aria-label={`Open ${agent.name} by matrix.to, to invite it`}
        >
          <IconExternalLink size={15} stroke={1.7} aria-hidden />
        </ActionIcon>
      </div>
      <div className="agent-facts">
        <Badge variant="default" radius="sm" tt="none">{engines[agent.engine]}</Badge>
      </div>
      <div className="agent-state">{stateOf(agent, fleet)}</div>
      {agent.standing === "retired" ? <span /> : (
        <Menu position="bottom-end" width={220} withinPortal>
          <Menu.Target>
            <ActionIcon variant="subtle" color="gray" aria-label={`What to do with ${agent.name}`}>
              <IconDots size={18} aria-hidden />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item leftSection={<IconPencil size={16} stroke={1.7} aria-hidden />} onClick={rename.open}>
              Rename
            </Menu.Item>
            <Menu.Item leftSection={<IconUserPlus size={16} stroke={1.7} aria-hidden />} onClick={permit.open}>
              Permissions
            </Menu.Item>
            <Menu.Divider />
            <Menu.Item
              className="danger-item"
              leftSection={<IconKeyOff size={16} stroke={1.7} aria-hidden />}
              disabled={agent.credential === "revoked"}
              onClick={revoke.open}
            >
              Revoke credential
            </Menu.Item>
            <Menu.Item
              className="danger-item"
              leftSection={<IconArchive size={16} stroke={1.7} aria-hidden />}
              onClick={retire.open}
            >
              Retire
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      )}
      {renaming ? <Rename agent={agent} close={rename.close} /> : null}
      {permitting ? <Permissions agent={agent} close={permit.close} /> : null}
      {revoking ? <RevokeCredential agent={agent} close={revoke.close} /> : null}
      {retiring ? <Retire agent={agent} close={retire.close} /> : null}
    </li>
  )
}
