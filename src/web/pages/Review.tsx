// One enrollment request, whole: everything that it asks for, what changes with it, and the decision. Nothing in the address
// decides or fills in anything.
import { Button, TextInput } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import IconArrowLeft from "@tabler/icons-react/dist/esm/icons/IconArrowLeft.mjs"
import IconShieldCheck from "@tabler/icons-react/dist/esm/icons/IconShieldCheck.mjs"
import IconShieldX from "@tabler/icons-react/dist/esm/icons/IconShieldX.mjs"
import { Option, Schema } from "effect"
import { type FormEvent, useMemo, useRef, useState } from "react"
import { Link, useParams } from "react-router"
import type { RequestDetail } from "../../domain/api/Management.ts"
import { EnrollmentId } from "../../domain/Ids.ts"
import { pagePaths } from "../../domain/WebPaths.ts"
import { useAct } from "../Act.ts"
import { Api, requestDetail } from "../Api.ts"
import { AskDialog } from "../parts/AskDialog.tsx"
import { CopyLine } from "../parts/Copy.tsx"
import { sayDone } from "../parts/Done.ts"
import { Loaded } from "../parts/Loaded.tsx"
import { UserIdText } from "../parts/Outside.tsx"
import { Page } from "../parts/Page.tsx"
import { ProblemNote } from "../parts/ProblemNote.tsx"
import { When, WholeTime } from "../parts/When.tsx"
import { NotHere } from "./NotHere.tsx"
import { RequestStateText } from "./RequestState.tsx"
import { isOpen, RosterEntries, Warnings } from "./RosterEntries.tsx"

const Approve = ({ request }: { readonly request: RequestDetail }) => {
  const approve = useAct(Api.mutation("requests", "approve"))
  const [code, setCode] = useState("")
  const [missing, setMissing] = useState(false)
  const field = useRef<HTMLInputElement>(null)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    const typed = code.trim()
    setMissing(typed === "")
    if (typed === "") {
      approve.clear()
      return field.current?.focus()
    }
    const answer = await approve.run({
      path: { enrollmentId: request.enrollmentId },
      payload: { code: typed },
      reactivityKeys: ["requests", "fleets"]
    })
    if (Option.isSome(answer)) sayDone(`The fleet ${request.fleetKey} is approved`)
    else field.current?.focus()
  }
  return (
    <form className="approve" onSubmit={(event) => void submit(event)} noValidate>
      <TextInput
        ref={field}
        label="The code"
        description={
          <>
            As <code>fleet enroll</code> shows it where you started it. Nobody else sees it.
          </>
        }
        placeholder="XXXX-XXXX"
        value={code}
        maxLength={40}
        autoComplete="off"
        autoCapitalize="characters"
        spellCheck={false}
        className="code-field"
        error={missing ? "Type the code that `fleet enroll` shows" : null}
        onChange={(event) => setCode(event.currentTarget.value)}
      />
      {approve.problem === null ? null : <ProblemNote problem={approve.problem} />}
      <Button
        type="submit"
        loading={approve.busy}
        leftSection={<IconShieldCheck size={18} stroke={1.7} aria-hidden />}
      >
        Approve exactly this
      </Button>
    </form>
  )
}

const RejectDialog = ({ close, request }: { readonly request: RequestDetail; readonly close: () => void }) => {
  const reject = useAct(Api.mutation("requests", "reject"))
  const doIt = async () => {
    const answer = await reject.run({
      path: { enrollmentId: request.enrollmentId },
      payload: {},
      reactivityKeys: ["requests"]
    })
    if (Option.isNone(answer)) return
    sayDone(`The request of the fleet ${request.fleetKey} is rejected`)
    close()
  }
  return (
    <AskDialog
      close={close}
      title="Reject this request?"
      does="Reject"
      danger
      doing={() => void doIt()}
      act={reject}
    >
      <p>Nothing is made. Whoever started it is told, and can ask again with a new request.</p>
    </AskDialog>
  )
}

const Reject = ({ request }: { readonly request: RequestDetail }) => {
  const [opened, dialog] = useDisclosure(false)
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconShieldX size={18} stroke={1.7} aria-hidden />}
        onClick={dialog.open}
      >
        Reject
      </Button>
      {opened ? <RejectDialog request={request} close={dialog.close} /> : null}
    </>
  )
}

const Decision = ({ request }: { readonly request: RequestDetail }) => {
  switch (request.state) {
    case "pending":
      return (
        <section className="card decision" aria-labelledby="decision">
          <h2 id="decision">Your decision</h2>
          {request.mayApprove
            ? (
              <>
                <p>
                  Nothing exists before you approve it. Approve only what <strong>you</strong>{" "}
                  started yourself, and only after reading every entry above. Each agent acts with the power of the
                  machine’s user it runs as.
                </p>
                <Approve request={request} />
              </>
            )
            : (
              <p>
                Only <UserIdText userId={request.owner} />{" "}
                can approve this request. As an administrator you can reject it.
              </p>
            )}
          <Reject request={request} />
        </section>
      )
    case "approved":
      return (
        <section className="card decision" aria-labelledby="decision">
          <h2 id="decision">Approved</h2>
          <p>
            <code>fleet enroll</code>{" "}
            goes on by itself and makes the agents known. If it no longer runs, run it again without{" "}
            <code>--again</code>:
          </p>
          <CopyLine text={`fleet enroll roster.toml --server ${location.origin}`} what="the command" />
          <p className="fine">
            Possible until <WholeTime millis={request.expiresAtMillis} />. Until then it can still be rejected.
          </p>
          <Reject request={request} />
        </section>
      )
    case "introduced":
      return (
        <section className="card decision" aria-labelledby="decision">
          <h2 id="decision">Taken in</h2>
          <p>
            The agents exist. One that was new takes part in no room yet: invite it where you want it. One that existed
            before keeps its rooms.
          </p>
          <Button component={Link} to={pagePaths.fleets} variant="default">Go to the fleets</Button>
        </section>
      )
    case "rejected":
    case "expired":
      return (
        <section className="card decision" aria-labelledby="decision">
          <h2 id="decision">{request.state === "rejected" ? "Rejected" : "Expired"}</h2>
          <p>
            With this request nothing was made. To ask again, run <code>fleet enroll --again</code>{" "}
            with the same roster.
          </p>
        </section>
      )
  }
}

const Whole = ({ request }: { readonly request: RequestDetail }) => (
  <div className="stack-lg">
    <dl className="facts card">
      <div>
        <dt>Fleet</dt>
        <dd>{request.roster.fleet}</dd>
      </div>
      <div>
        <dt>Owner</dt>
        <dd>
          <UserIdText userId={request.roster.owner} />
        </dd>
      </div>
      <div>
        <dt>State</dt>
        <dd>
          <RequestStateText state={request.state} own={request.mayApprove} />
        </dd>
      </div>
      <div>
        <dt>Filed</dt>
        <dd>
          <When millis={request.createdAtMillis} />
        </dd>
      </div>
      {isOpen(request)
        ? (
          <div>
            <dt>Open until</dt>
            <dd>
              <WholeTime millis={request.expiresAtMillis} />
            </dd>
          </div>
        )
        : null}
    </dl>
    <Warnings request={request} />
    <RosterEntries request={request} />
    <Decision request={request} />
  </div>
)

const readId = Schema.decodeUnknownOption(EnrollmentId)

const Found = ({ enrollmentId }: { readonly enrollmentId: EnrollmentId }) => {
  const atom = useMemo(() => requestDetail(enrollmentId), [enrollmentId])
  return (
    <Page
      title="Enrollment request"
      lead="A fleet that asks to be taken in, with everything that it asks for."
      act={
        <Button
          component={Link}
          to={pagePaths.requests}
          variant="subtle"
          color="gray"
          size="compact-md"
          leftSection={<IconArrowLeft size={16} stroke={1.7} aria-hidden />}
        >
          All requests
        </Button>
      }
    >
      <Loaded atom={atom} whoSees="A request is shown to its owner and to administrators alone.">
        {(request) => <Whole request={request} />}
      </Loaded>
    </Page>
  )
}

export const Review = () => {
  const id = readId(useParams()["enrollmentId"])
  return Option.isSome(id) ? <Found enrollmentId={id.value} /> : <NotHere />
}
