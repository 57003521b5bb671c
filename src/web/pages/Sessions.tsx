// The browsers in which this person is signed in, and how to end that.
import { Badge, Button } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import IconDeviceLaptop from "@tabler/icons-react/dist/esm/icons/IconDeviceLaptop.mjs"
import { Option } from "effect"
import type { ListedSession } from "../../domain/api/People.ts"
import { pagePaths } from "../../domain/WebPaths.ts"
import { useAct } from "../Act.ts"
import { Api, sessions } from "../Api.ts"
import { browserName } from "../BrowserName.ts"
import { AskDialog } from "../parts/AskDialog.tsx"
import { sayDone } from "../parts/Done.ts"
import { Loaded } from "../parts/Loaded.tsx"
import { Outside } from "../parts/Outside.tsx"
import { Page } from "../parts/Page.tsx"
import { When } from "../parts/When.tsx"

const BrowserText = ({ described }: { readonly described: string }) => {
  const name = browserName(described)
  return name === null
    ? <Outside className="strong" text={described === "" ? "A browser that did not describe itself" : described} />
    : <strong>{name}</strong>
}

const End = ({ close, session }: { readonly session: ListedSession; readonly close: () => void }) => {
  const revoke = useAct(Api.mutation("session", "revoke"))
  const doIt = async () => {
    const answer = await revoke.run({
      path: { sessionId: session.sessionId },
      payload: {},
      reactivityKeys: session.current ? [] : ["sessions"]
    })
    if (Option.isNone(answer)) return
    if (session.current) return location.assign(pagePaths.signIn)
    sayDone("The session is ended")
    close()
  }
  return (
    <AskDialog
      close={close}
      title={session.current ? "End this very session?" : "End this session?"}
      does="End session"
      danger
      doing={() => void doIt()}
      act={revoke}
    >
      <p>
        <BrowserText described={session.browser} />
      </p>
      {browserName(session.browser) === null ? null : (
        <p className="fine">
          As it describes itself: <Outside text={session.browser} />
        </p>
      )}
      <p>
        {session.current
          ? "You are signed out here at once."
          : "That browser is signed out at once. Whoever uses it needs a new link from the bot."}
      </p>
    </AskDialog>
  )
}

const EndOthers = ({ close, count }: { readonly count: number; readonly close: () => void }) => {
  const revoke = useAct(Api.mutation("session", "revokeOthers"))
  const doIt = async () => {
    const answer = await revoke.run({ payload: {}, reactivityKeys: ["sessions"] })
    if (Option.isNone(answer)) return
    sayDone(answer.value.ended === 1 ? "1 session is ended" : `${answer.value.ended} sessions are ended`)
    close()
  }
  return (
    <AskDialog
      close={close}
      title="End all other sessions?"
      does="End all others"
      danger
      doing={() => void doIt()}
      act={revoke}
    >
      <p>
        {count === 1 ? "The one other session ends" : `All ${count} other sessions end`}{" "}
        at once. You stay signed in here.
      </p>
    </AskDialog>
  )
}

const Row = ({ session }: { readonly session: ListedSession }) => {
  const [opened, dialog] = useDisclosure(false)
  return (
    <li className="row session-row">
      <IconDeviceLaptop size={20} stroke={1.5} aria-hidden className="dim" />
      <div className="person-who">
        <span className="session-browser">
          <BrowserText described={session.browser} />
          {session.current ? <Badge variant="light" radius="sm" tt="none" size="sm">This one</Badge> : null}
        </span>
        <span className="fine">
          signed in <When millis={session.signedInAtMillis} />, last seen <When millis={session.seenAtMillis} />, ends
          {" "}
          <When millis={session.endsAtMillis} /> at the latest
        </span>
      </div>
      <Button size="compact-sm" variant="default" onClick={dialog.open}>
        End
      </Button>
      {opened ? <End session={session} close={dialog.close} /> : null}
    </li>
  )
}

const List = ({ views }: { readonly views: ReadonlyArray<ListedSession> }) => {
  const [opened, dialog] = useDisclosure(false)
  const ordered = [...views.filter(({ current }) => current), ...views.filter(({ current }) => !current)]
  const others = views.length - views.filter(({ current }) => current).length
  return (
    <div className="stack">
      <ul className="rows card" aria-label="Sessions">
        {ordered.map((session) => <Row key={session.sessionId} session={session} />)}
      </ul>
      {others === 0
        ? <p className="fine">You are signed in nowhere else.</p>
        : (
          <div>
            <Button variant="default" onClick={dialog.open}>End all others</Button>
          </div>
        )}
      {opened ? <EndOthers count={others} close={dialog.close} /> : null}
    </div>
  )
}

export const Sessions = () => (
  <Page
    title="Sessions"
    lead="Where you are signed in. What a browser says of itself is a hint and nothing proven: end what you do not know."
  >
    <Loaded atom={sessions}>{(views) => <List views={views} />}</Loaded>
  </Page>
)
