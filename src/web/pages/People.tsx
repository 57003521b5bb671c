// Who may sign in, with which role. For administrators.
import { ActionIcon, Badge, Button, Menu, Radio, Stack, TextInput } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import IconDots from "@tabler/icons-react/dist/esm/icons/IconDots.mjs"
import IconShield from "@tabler/icons-react/dist/esm/icons/IconShield.mjs"
import IconUser from "@tabler/icons-react/dist/esm/icons/IconUser.mjs"
import IconUserOff from "@tabler/icons-react/dist/esm/icons/IconUserOff.mjs"
import IconUserPlus from "@tabler/icons-react/dist/esm/icons/IconUserPlus.mjs"
import IconUsers from "@tabler/icons-react/dist/esm/icons/IconUsers.mjs"
import { Either, Option, Schema } from "effect"
import { useState } from "react"
import { Link } from "react-router"
import type { PersonRole } from "../../domain/Actor.ts"
import type { PersonView } from "../../domain/api/People.ts"
import { UserId } from "../../domain/Ids.ts"
import { pagePaths } from "../../domain/WebPaths.ts"
import { useAct } from "../Act.ts"
import { Api, people } from "../Api.ts"
import { AskDialog } from "../parts/AskDialog.tsx"
import { sayDone } from "../parts/Done.ts"
import { Empty } from "../parts/Empty.tsx"
import { Loaded } from "../parts/Loaded.tsx"
import { UserIdText } from "../parts/Outside.tsx"
import { Page } from "../parts/Page.tsx"
import { State } from "../parts/State.tsx"
import { When } from "../parts/When.tsx"
import { useSession } from "../Session.ts"

const roles: Readonly<Record<PersonRole, string>> = { member: "Member", administrator: "Administrator" }

const counted = (count: number, one: string): string => count === 1 ? `1 ${one}` : `${count} ${one}s`

type Asked = "role" | "deactivate" | "reactivate"

const RoleDialog = ({ close, person }: { readonly person: PersonView; readonly close: () => void }) => {
  const { userId } = useSession()
  const setRole = useAct(Api.mutation("people", "setRole"))
  const role = person.role === "administrator" ? "member" : "administrator"
  const doIt = async () => {
    const answer = await setRole.run({
      path: { userId: person.userId },
      payload: { role },
      reactivityKeys: ["people", "sessions"]
    })
    if (Option.isNone(answer)) return
    sayDone(`${person.userId} is ${role === "administrator" ? "an administrator" : "a member"} now`)
    close()
  }
  return (
    <AskDialog
      close={close}
      title={role === "administrator" ? "Make this person an administrator?" : "Make this person a member?"}
      does={role === "administrator" ? "Make administrator" : "Make member"}
      danger={person.userId === userId}
      doing={() => void doIt()}
      act={setRole}
    >
      <p>
        <UserIdText userId={person.userId} />
      </p>
      <p>
        {role === "administrator"
          ? "Administrators see and manage everybody’s fleets, people and invitations. They approve no enrollment in another’s name."
          : "Members see and manage their own fleets alone."}{" "}
        With a change of role all their sessions end; they sign in again.
        {person.userId === userId ? " That is you." : ""}
      </p>
    </AskDialog>
  )
}

const StandingDialog = ({ close, person }: { readonly person: PersonView; readonly close: () => void }) => {
  const deactivate = useAct(Api.mutation("people", "deactivate"))
  const reactivate = useAct(Api.mutation("people", "reactivate"))
  const act = person.active ? deactivate : reactivate
  const doIt = async () => {
    const answer = await act.run({
      path: { userId: person.userId },
      payload: {},
      reactivityKeys: ["people", "sessions"]
    })
    if (Option.isNone(answer)) return
    sayDone(`${person.userId} is ${person.active ? "deactivated" : "active again"}`)
    close()
  }
  return (
    <AskDialog
      close={close}
      title={person.active ? "Deactivate this person?" : "Reactivate this person?"}
      does={person.active ? "Deactivate" : "Reactivate"}
      danger={person.active}
      doing={() => void doIt()}
      act={act}
    >
      <p>
        <UserIdText userId={person.userId} />
      </p>
      <p>
        {person.active
          ? "Their sessions end at once, and they wake no agent any more. Their agents stay as they are: retire those under “Fleets” where they should end, too. The Matrix account itself is the homeserver’s."
          : "They can sign in again, and wake their agents."}
      </p>
    </AskDialog>
  )
}

const Row = ({ person }: { readonly person: PersonView }) => {
  const { userId } = useSession()
  const [asked, setAsked] = useState<Asked | null>(null)
  const close = () => setAsked(null)
  return (
    <li className="row person-row">
      <div className="person-who">
        <span className="person-id">
          <UserIdText userId={person.userId} />
          {person.userId === userId ? <Badge variant="default" radius="sm" tt="none" size="sm">You</Badge> : null}
        </span>
        <span className="fine">
          {person.addedBy === null
            ? "added by the operator"
            : person.addedBy === person.userId
            ? "came by signing in"
            : (
              <>
                added by <UserIdText userId={person.addedBy} />
              </>
            )}, <When millis={person.addedAtMillis} />
        </span>
      </div>
      <div className="person-facts fine">
        {counted(person.agents, "agent")}, {counted(person.sessions, "session")}
      </div>
      <div className="person-state">
        {person.active
          ? <State tone={person.role === "administrator" ? "good" : "quiet"} text={roles[person.role]} />
          : <State tone="bad" text="Deactivated" />}
      </div>
      <Menu position="bottom-end" width={230} withinPortal>
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={`What to do with ${person.userId}`}>
            <IconDots size={18} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            leftSection={<IconShield size={16} stroke={1.7} aria-hidden />}
            disabled={!person.active}
            onClick={() => setAsked("role")}
          >
            {person.role === "administrator" ? "Make member" : "Make administrator"}
          </Menu.Item>
          {person.active
            ? (
              <Menu.Item
                className="danger-item"
                leftSection={<IconUserOff size={16} stroke={1.7} aria-hidden />}
                onClick={() => setAsked("deactivate")}
              >
                Deactivate
              </Menu.Item>
            )
            : (
              <Menu.Item
                leftSection={<IconUser size={16} stroke={1.7} aria-hidden />}
                onClick={() => setAsked("reactivate")}
              >
                Reactivate
              </Menu.Item>
            )}
        </Menu.Dropdown>
      </Menu>
      {asked === "role" ? <RoleDialog person={person} close={close} /> : null}
      {asked === "deactivate" || asked === "reactivate" ? <StandingDialog person={person} close={close} /> : null}
    </li>
  )
}

const readUser = Schema.decodeUnknownEither(UserId)

const Add = ({ close }: { readonly close: () => void }) => {
  const { serverName } = useSession()
  const add = useAct(Api.mutation("people", "add"))
  const [typed, setTyped] = useState("")
  const [role, setRole] = useState<PersonRole>("member")
  const [complaint, setComplaint] = useState<string | null>(null)
  const doIt = async () => {
    const trimmed = typed.trim()
    const user = readUser(trimmed.startsWith("@") ? trimmed : `@${trimmed}:${serverName}`)
    if (trimmed === "" || Either.isLeft(user)) {
      add.clear()
      return setComplaint(`A full Matrix ID looks like @alice:${serverName}`)
    }
    setComplaint(null)
    const answer = await add.run({ payload: { userId: user.right, role }, reactivityKeys: ["people"] })
    if (Option.isNone(answer)) return
    sayDone(`${user.right} is known now, and can sign in once the homeserver has that account`)
    close()
  }
  return (
    <AskDialog
      close={close}
      title="Make somebody known"
      does="Add"
      doing={() => void doIt()}
      act={add}
    >
      <TextInput
        label="Matrix ID"
        description="Of an account that this homeserver has already. Somebody without one needs an invitation."
        placeholder={`@bob:${serverName}`}
        value={typed}
        maxLength={255}
        data-autofocus
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        error={complaint}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
      <Radio.Group
        label="Role"
        value={role}
        onChange={(value) => setRole(value === "administrator" ? value : "member")}
      >
        <Stack gap="xs" mt={6}>
          <Radio value="member" label="Member" description="Manages their own fleets" />
          <Radio
            value="administrator"
            label="Administrator"
            description="Manages everybody’s fleets, people, invitations"
          />
        </Stack>
      </Radio.Group>
    </AskDialog>
  )
}

export const People = () => {
  const { role } = useSession()
  const [adding, add] = useDisclosure(false)
  return (
    <Page
      title="People"
      lead="Who may sign in here. A person is their full Matrix ID; display names say nothing."
      act={role === "administrator"
        ? (
          <Button leftSection={<IconUserPlus size={17} stroke={1.7} aria-hidden />} onClick={add.open}>
            Add somebody
          </Button>
        )
        : undefined}
    >
      <Loaded atom={people} whoSees="Administrators see who may sign in.">
        {(views) => (
          <div className="stack">
            <ul className="rows card" aria-label="People">
              {views.map((person) => <Row key={person.userId} person={person} />)}
            </ul>
            {views.length > 1 ? null : (
              <Empty icon={IconUsers} title="Nobody else yet">
                <p>
                  Somebody without an account on this homeserver signs up with an{" "}
                  <Link to={pagePaths.invitations}>invitation</Link>. Make somebody known here who has one already.
                </p>
              </Empty>
            )}
          </div>
        )}
      </Loaded>
      {adding ? <Add close={add.close} /> : null}
    </Page>
  )
}
