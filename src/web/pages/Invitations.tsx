// Bringing people in: invitations, each good for one account, and by what policy people come at all.
import { Badge, Button } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import IconMailPlus from "@tabler/icons-react/dist/esm/icons/IconMailPlus.mjs"
import { Option } from "effect"
import type { InvitationView, SignupView } from "../../domain/api/People.ts"
import { useAct } from "../Act.ts"
import { Api, invitations, signup } from "../Api.ts"
import { AskDialog } from "../parts/AskDialog.tsx"
import { sayDone } from "../parts/Done.ts"
import { Empty } from "../parts/Empty.tsx"
import { Loaded } from "../parts/Loaded.tsx"
import { Outside, UserIdText } from "../parts/Outside.tsx"
import { Page } from "../parts/Page.tsx"
import { State, type Tone } from "../parts/State.tsx"
import { When } from "../parts/When.tsx"
import { useSession } from "../Session.ts"
import { NewInvitationDialog } from "./NewInvitation.tsx"
import { SignupPolicyCard } from "./SignupPolicy.tsx"

const words: Readonly<Record<InvitationView["state"], readonly [Tone, string]>> = {
  open: ["good", "Open"],
  used: ["quiet", "Used"],
  revoked: ["bad", "Revoked"],
  expired: ["quiet", "Expired"]
}

const Revoke = ({ close, invitation }: { readonly invitation: InvitationView; readonly close: () => void }) => {
  const revoke = useAct(Api.mutation("invitations", "revoke"))
  const doIt = async () => {
    const answer = await revoke.run({
      path: { invitationId: invitation.invitationId },
      payload: {},
      reactivityKeys: ["invitations"]
    })
    if (Option.isNone(answer)) return
    sayDone("The invitation is revoked")
    close()
  }
  return (
    <AskDialog
      close={close}
      title="Revoke this invitation?"
      does="Revoke"
      danger
      doing={() => void doIt()}
      act={revoke}
    >
      <p>
        {invitation.note === "" ? "It" : <Outside className="strong" text={invitation.note} />}{" "}
        opens no account any more. An account that was made with it stays.
      </p>
    </AskDialog>
  )
}

const Row = ({ invitation }: { readonly invitation: InvitationView }) => {
  const { userId } = useSession()
  const [opened, dialog] = useDisclosure(false)
  const [tone, text] = words[invitation.state]
  return (
    <li className="row invitation-row">
      <div className="person-who">
        <span className="invitation-note">
          {invitation.note === "" ? <span className="dim">Without a note</span> : <Outside text={invitation.note} />}
        </span>
        <span className="fine">
          {invitation.madeBy === null
            ? "made by the operator"
            : invitation.madeBy === userId
            ? "made by you"
            : (
              <>
                made by <UserIdText userId={invitation.madeBy} />
              </>
            )} <When millis={invitation.createdAtMillis} />
        </span>
      </div>
      <div className="person-state">
        <State tone={tone} text={text} />
        {invitation.state === "open"
          ? (
            <span className="fine">
              ends <When millis={invitation.expiresAtMillis} />
            </span>
          )
          : null}
      </div>
      <div className="invitation-act">
        {invitation.state !== "open" ? null : (
          <Button size="compact-sm" variant="default" onClick={dialog.open}>
            Revoke
          </Button>
        )}
      </div>
      {opened ? <Revoke invitation={invitation} close={dialog.close} /> : null}
    </li>
  )
}

const List = ({ rules }: { readonly rules: SignupView }) => {
  const [making, make] = useDisclosure(false)
  return (
    <>
      <div className="section-head">
        <h2 className="section-title">Invitations</h2>
        {rules.mayInvite
          ? (
            <Button leftSection={<IconMailPlus size={17} stroke={1.7} aria-hidden />} onClick={make.open}>
              Invite somebody
            </Button>
          )
          : <Badge variant="default" tt="none" radius="sm">Administrators invite</Badge>}
      </div>
      <Loaded atom={invitations}>
        {(views) =>
          views.length === 0
            ? (
              <Empty icon={IconMailPlus} title="No invitations yet">
                <p>
                  {rules.policy === "open"
                    ? "Nobody needs one while signup is open: people make an account in Element by themselves."
                    : rules.mayInvite
                    ? "An invitation is a token for one account on the homeserver. You hand it over yourself; Element asks for it, and for a password that only they know."
                    : "Only administrators invite people here. Ask one of them."}
                </p>
              </Empty>
            )
            : (
              <ul className="rows card" aria-label="Invitations">
                {views.map((invitation) => <Row key={invitation.invitationId} invitation={invitation} />)}
              </ul>
            )}
      </Loaded>
      {making ? <NewInvitationDialog close={make.close} policy={rules.policy} /> : null}
    </>
  )
}

export const Invitations = () => (
  <Page title="Invitations" lead="How people get an account on the homeserver, and with it a way in.">
    <Loaded atom={signup}>
      {(rules) => (
        <div className="stack-lg">
          <SignupPolicyCard key={rules.policy} rules={rules} />
          <div>
            <List rules={rules} />
          </div>
        </div>
      )}
    </Loaded>
  </Page>
)
