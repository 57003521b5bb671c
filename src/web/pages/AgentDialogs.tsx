// What an owner decides about one agent: its name, its permissions, its credential, its end.
import { Switch, TextInput } from "@mantine/core"
import { Either, Option, ParseResult, Schema } from "effect"
import { useState } from "react"
import type { AgentView } from "../../domain/api/Management.ts"
import { RegisteredName } from "../../domain/Roster.ts"
import { useAct } from "../Act.ts"
import { Api } from "../Api.ts"
import { AskDialog } from "../parts/AskDialog.tsx"
import { sayDone } from "../parts/Done.ts"

interface Props {
  readonly agent: AgentView
  readonly close: () => void
}

const readName = Schema.decodeUnknownEither(RegisteredName)

export const Rename = ({ agent, close }: Props) => {
  const rename = useAct(Api.mutation("fleets", "renameAgent"))
  const [typed, setTyped] = useState<string>(agent.name)
  const [complaint, setComplaint] = useState<string | null>(null)
  const doIt = async () => {
    const name = readName(typed.trim())
    if (Either.isLeft(name)) {
      rename.clear()
      return setComplaint(ParseResult.ArrayFormatter.formatErrorSync(name.left)[0]?.message ?? "")
    }
    setComplaint(null)
    if (name.right === agent.name) return close()
    const answer = await rename.run({
      path: { agentId: agent.agentId },
      payload: { name: name.right },
      reactivityKeys: ["fleets"]
    })
    if (Option.isNone(answer)) return
    sayDone(`${agent.name} is now ${answer.value.name}`)
    close()
  }
  return (
    <AskDialog
      close={close}
      title={`Rename ${agent.name}`}
      does="Rename"
      doing={() => void doIt()}
      act={rename}
    >
      <TextInput
        label="Name"
        description="2 to 32 lower-case letters, digits and hyphens. Its Matrix ID, rooms and history stay."
        value={typed}
        maxLength={40}
        data-autofocus
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        error={complaint}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
      <p className="fine">
        The roster of the fleet still has the former name: change it there too, or the next enrollment renames it back.
      </p>
    </AskDialog>
  )
}

export const Permissions = ({ agent, close }: Props) => {
  const permit = useAct(Api.mutation("fleets", "setPermissions"))
  const [mayInviteAgents, setMayInvite] = useState(agent.mayInviteAgents)
  const doIt = async () => {
    const answer = await permit.run({
      path: { agentId: agent.agentId },
      payload: { mayInviteAgents },
      reactivityKeys: ["fleets"]
    })
    if (Option.isNone(answer)) return
    sayDone(`The permissions of ${agent.name} are saved`)
    close()
  }
  return (
    <AskDialog
      close={close}
      title={`What ${agent.name} may do`}
      does="Save"
      doing={() => void doIt()}
      act={permit}
    >
      <Switch
        label="May invite other agents into rooms"
        description="Off by default. What one agent reads can move it to bring another one in."
        checked={mayInviteAgents}
        data-autofocus
        onChange={(event) => setMayInvite(event.currentTarget.checked)}
      />
    </AskDialog>
  )
}

export const RevokeCredential = ({ agent, close }: Props) => {
  const revoke = useAct(Api.mutation("fleets", "revokeAgentCredential"))
  const doIt = async () => {
    const answer = await revoke.run({ path: { agentId: agent.agentId }, payload: {}, reactivityKeys: ["fleets"] })
    if (Option.isNone(answer)) return
    sayDone(`The credential of ${agent.name} is revoked`)
    close()
  }
  return (
    <AskDialog
      close={close}
      title={`Revoke the credential of ${agent.name}?`}
      does="Revoke"
      danger
      doing={() => void doIt()}
      act={revoke}
    >
      <p>
        It ends at once, open connections with it. The agent keeps its name, rooms and history. Its fleet gives it a new
        one with <code>fleet credentials rotate</code>.
      </p>
    </AskDialog>
  )
}

export const Retire = ({ agent, close }: Props) => {
  const retire = useAct(Api.mutation("fleets", "retireAgent"))
  const [typed, setTyped] = useState("")
  const [complaint, setComplaint] = useState<string | null>(null)
  const doIt = async () => {
    if (typed.trim() !== agent.name) {
      retire.clear()
      return setComplaint(`Type ${agent.name} to confirm`)
    }
    setComplaint(null)
    const answer = await retire.run({ path: { agentId: agent.agentId }, payload: {}, reactivityKeys: ["fleets"] })
    if (Option.isNone(answer)) return
    sayDone(`${agent.name} is retired`)
    close()
  }
  return (
    <AskDialog
      close={close}
      title={`Retire ${agent.name} for ever?`}
      does="Retire"
      danger
      doing={() => void doIt()}
      act={retire}
    >
      <p>
        Its credential ends and it leaves its rooms. Nobody else ever gets its name or Matrix ID.{" "}
        <strong>This cannot be undone.</strong>
      </p>
      <p>
        The roster of the fleet still has the entry with the key{" "}
        <code>{agent.key}</code>: delete it there too, or the next enrollment is refused whole.
      </p>
      <TextInput
        label={
          <>
            Type <strong>{agent.name}</strong> to confirm
          </>
        }
        value={typed}
        maxLength={40}
        data-autofocus
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        error={complaint}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
    </AskDialog>
  )
}
