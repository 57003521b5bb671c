// Makes an invitation and shows its token, this once, with what the invited person does with it.
import { Button, Modal, Select, TextInput } from "@mantine/core"
import IconExternalLink from "@tabler/icons-react/dist/esm/icons/IconExternalLink.mjs"
import { Option } from "effect"
import { useState } from "react"
import type { NewInvitation } from "../../domain/api/People.ts"
import { maxInvitationMillis, minInvitationMillis, usualInvitationMillis } from "../../domain/Signup.ts"
import { useAct } from "../Act.ts"
import { Api } from "../Api.ts"
import { AskDialog, useFocusBack } from "../parts/AskDialog.tsx"
import { CopyLine } from "../parts/Copy.tsx"
import { WholeTime } from "../parts/When.tsx"
import { safeUrl } from "../VisibleText.ts"

const dayMillis = 24 * minInvitationMillis
const lasting = [
  { value: String(dayMillis), label: "1 day" },
  { value: String(usualInvitationMillis), label: "7 days" },
  { value: String(maxInvitationMillis), label: "30 days" }
]

const Made = ({ close, made }: { readonly made: NewInvitation; readonly close: () => void }) => {
  useFocusBack()
  const element = safeUrl(made.elementUrl)
  return (
    <Modal
      opened
      returnFocus={false}
      onClose={close}
      title="Hand this over"
      centered
      size="lg"
      closeOnClickOutside={false}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      <div className="stack">
        <p>
          The token is shown <strong>this once</strong>. It opens one account, until{" "}
          <WholeTime millis={made.invitation.expiresAtMillis} />. Give it to the person yourself.
        </p>
        <div>
          <p className="label">Token</p>
          <CopyLine text={made.token} what="the token" focused />
        </div>
        <div>
          <p className="label">What they do</p>
          <ol className="steps">
            <li>
              {element === null ? "Open Element." : (
                <>
                  <a href={element} target="_blank" rel="noreferrer">
                    Open Element
                    <IconExternalLink size={13} stroke={1.8} aria-hidden className="inline-icon" />
                  </a>
                </>
              )}
            </li>
            <li>
              Choose “Create account”, then “Edit” beside the homeserver, and enter:
              <CopyLine text={made.homeserverUrl} what="the homeserver’s address" />
            </li>
            <li>Choose a name and a password. Only they know the password.</li>
            <li>When Element asks for a registration token, enter the token from above.</li>
          </ol>
        </div>
        <div className="dialog-acts">
          <Button onClick={close}>I have it</Button>
        </div>
      </div>
    </Modal>
  )
}

export const NewInvitationDialog = ({ close }: { readonly close: () => void }) => {
  const make = useAct(Api.mutation("invitations", "make"))
  const [note, setNote] = useState("")
  const [lasts, setLasts] = useState(String(usualInvitationMillis))
  const [made, setMade] = useState<NewInvitation | null>(null)
  const doIt = async () => {
    const answer = await make.run({
      payload: { note: note.trim(), lastsMillis: Number(lasts) },
      reactivityKeys: ["invitations"]
    })
    if (Option.isSome(answer)) setMade(answer.value)
  }
  if (made !== null) return <Made made={made} close={close} />
  return (
    <AskDialog
      close={close}
      title="Invite somebody"
      does="Make an invitation"
      doing={() => void doIt()}
      busy={make.busy}
      problem={make.problem}
    >
      <TextInput
        label="Who is it for?"
        description="A note for you; the invited person does not see it."
        value={note}
        maxLength={200}
        data-autofocus
        autoComplete="off"
        onChange={(event) => setNote(event.currentTarget.value)}
      />
      <Select
        label="Good for"
        data={lasting}
        value={lasts}
        allowDeselect={false}
        onChange={(value) => {
          if (value !== null) setLasts(value)
        }}
      />
    </AskDialog>
  )
}
