// Makes an invitation and shows its token, this once, with what the invited person does with it.
import { Button, Modal, Select, TextInput } from "@mantine/core"
import { Option } from "effect"
import { useState } from "react"
import type { NewInvitation } from "../../domain/api/People.ts"
import {
  maxInvitationMillis,
  minInvitationMillis,
  type SignupPolicy,
  usualInvitationMillis
} from "../../domain/Signup.ts"
import { pagePaths } from "../../domain/WebPaths.ts"
import { useAct } from "../Act.ts"
import { Api } from "../Api.ts"
import { handOverText, isLoopback, isPlainHttp } from "../HandOver.ts"
import { AskDialog, useFocusBack } from "../parts/AskDialog.tsx"
import { CopyText } from "../parts/Copy.tsx"
import { Outside } from "../parts/Outside.tsx"
import { safeUrl } from "../VisibleText.ts"

const dayMillis = 24 * minInvitationMillis
const lasting = [
  { value: String(dayMillis), label: "1 day" },
  { value: String(usualInvitationMillis), label: "7 days" },
  { value: String(maxInvitationMillis), label: "30 days" }
]

const HandOverBlock = ({ text, token }: { readonly text: string; readonly token: string }) => (
  <div>
    <section className="block" aria-label="For the invited person" tabIndex={0}>
      <pre>
        <Outside text={text} keep={"\n"} />
      </pre>
    </section>
    <div className="block-acts">
      <CopyText text={text} what="all" focused />
      <CopyText text={token} what="the token" />
    </div>
  </div>
)

/** What of these addresses will not work for everybody. */
const Remarks = ({ homeserverUrl }: { readonly homeserverUrl: string }) => {
  const near = [homeserverUrl, location.origin].filter(isLoopback)
  const plain = isPlainHttp(homeserverUrl)
  if (near.length === 0 && !plain) return null
  return (
    <ul className="remark">
      {near.length === 0 ? null : (
        <li>
          <Outside className="mono" text={near.join(", ")} />: on this machine alone. For people elsewhere the operator
          sets <code>homeserver.public_url</code> and <code>http.public_url</code>.
        </li>
      )}
      {plain
        ? (
          <li>
            A browser that loaded Element over HTTPS may refuse this homeserver’s plain{" "}
            <code>http</code>: then use Element Desktop, or an Element that you serve yourself.
          </li>
        )
        : null}
    </ul>
  )
}

const Made = ({ close, made }: { readonly made: NewInvitation; readonly close: () => void }) => {
  useFocusBack()
  const text = handOverText({
    crossfireUrl: `${location.origin}${pagePaths.signIn}`,
    elementUrl: safeUrl(made.elementUrl),
    homeserverUrl: made.homeserverUrl,
    token: made.token,
    untilMillis: made.invitation.expiresAtMillis
  })
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
          The token is shown <strong>this once</strong>. Give all of this to the person yourself.
        </p>
        <HandOverBlock text={text} token={made.token} />
        <Remarks homeserverUrl={made.homeserverUrl} />
        <div className="dialog-acts">
          <Button onClick={close}>I have it</Button>
        </div>
      </div>
    </Modal>
  )
}

export const NewInvitationDialog = ({ close, policy }: {
  readonly close: () => void
  readonly policy: SignupPolicy
}) => {
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
      act={make}
    >
      {policy === "open"
        ? (
          <p className="remark">
            Signup is open: nobody needs an invitation to make an account. A token helps only once signup is by
            invitation again.
          </p>
        )
        : null}
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
