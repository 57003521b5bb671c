// Asks for a sign-in link: the bot sends it into the person's chat, and it is good in this browser alone.
import { useAtomRefresh, useAtomValue } from "@effect-atom/atom-react"
import * as Result from "@effect-atom/atom/Result"
import { Anchor, Button, TextInput } from "@mantine/core"
import IconBrandMatrix from "@tabler/icons-react/dist/esm/icons/IconBrandMatrix.mjs"
import IconMessage2Check from "@tabler/icons-react/dist/esm/icons/IconMessage2Check.mjs"
import { Option } from "effect"
import { type FormEvent, useEffect, useRef, useState } from "react"
import { readAskedUser } from "../../domain/AskedUser.ts"
import type { UserId } from "../../domain/Ids.ts"
import { linkWindowMillis, maxLinksPerPerson } from "../../domain/Session.ts"
import { useAct } from "../Act.ts"
import { Api } from "../Api.ts"
import { CopyLine } from "../parts/Copy.tsx"
import { Outside } from "../parts/Outside.tsx"
import { ProblemNote } from "../parts/ProblemNote.tsx"
import { onSignedInElsewhere, takeBack } from "../ReturnTo.ts"
import { session } from "../Session.ts"
import { Alone } from "../shell/Alone.tsx"
import { matrixTo } from "../VisibleText.ts"

interface Asked {
  readonly user: string
  readonly bot: UserId
  readonly linkLastsMillis: number
}

const minuteMillis = 60_000

/** About the form alone, before anything is asked. A name without a server is one of this crossfire's own. */
const complaintAbout = (typed: string): string | null => {
  if (typed === "") return "Type your Matrix ID, as Element shows it under your name"
  const server = typed.includes(":") ? typed.slice(typed.indexOf(":") + 1) : "example.org"
  return Option.isSome(readAskedUser(typed, server))
    ? null
    : "That is no Matrix ID: it looks like @alice:example.org, as Element shows it under your name"
}

/** The same words for anybody, whether such a person is known or not. */
const Sent = ({ again, asked }: { readonly asked: Asked; readonly again: () => void }) => {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => heading.current?.focus(), [])
  return (
    <>
      <span className="alone-icon" aria-hidden>
        <IconMessage2Check size={24} stroke={1.6} />
      </span>
      <h1 ref={heading} tabIndex={-1}>Look into your chat</h1>
      <p>
        If <Outside className="mono" text={asked.user} /> may sign in here, the bot{" "}
        <Outside className="mono" text={asked.bot} /> has sent a link.{" "}
        <strong>Open it in this browser</strong>: it is good in no other, once, for{" "}
        {Math.round(asked.linkLastsMillis / minuteMillis)} minutes.
      </p>
      <details className="more">
        <summary>Nothing came?</summary>
        <ul>
          <li>
            Is the Matrix ID yours, letter by letter? <Outside className="mono" text={asked.user} />
          </li>
          <li>
            In Element, look among your invitations and at “People”: the first message of the bot comes as an invitation
            to a chat.
          </li>
          <li>
            Or start the chat yourself: in Element choose “Start new chat”, enter the bot’s full ID, then ask again
            here.
            <CopyLine text={asked.bot} what="the bot’s ID" />
            <Anchor href={matrixTo(asked.bot)} target="_blank" rel="noreferrer">Open by matrix.to</Anchor>
          </li>
          <li>
            Did you ask several times? One person gets at most {maxLinksPerPerson} links in{" "}
            {linkWindowMillis / minuteMillis} minutes. Wait as long, then ask once.
          </li>
          <li>
            It takes an account on this crossfire’s own homeserver. Where that homeserver is not run by crossfire, an
            administrator makes people known first. Ask yours, too, if you were deactivated.
          </li>
        </ul>
      </details>
      <Button variant="default" onClick={again}>Ask again or use another ID</Button>
    </>
  )
}

export const SignIn = () => {
  const current = useAtomValue(session)
  const askSession = useAtomRefresh(session)
  const ask = useAct(Api.mutation("signIn", "ask"))
  const [user, setUser] = useState("")
  const [asked, setAsked] = useState<Asked | null>(null)
  const [complaint, setComplaint] = useState<string | null>(null)
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => onSignedInElsewhere(askSession), [askSession])
  const signedIn = Result.isSuccess(current) && !current.waiting
  useEffect(() => {
    // A new page from the server: nothing of a former person stays in memory.
    if (signedIn) location.replace(takeBack())
  }, [signedIn])

  const submit = async (event: FormEvent) => {
    event.preventDefault()
    const typed = user.trim()
    const complained = complaintAbout(typed)
    setComplaint(complained)
    if (complained !== null) {
      ask.clear()
      return field.current?.focus()
    }
    const answer = await ask.run({ payload: { user: typed } })
    if (Option.isSome(answer)) setAsked({ user: typed, ...answer.value })
  }

  return (
    <Alone>
      {asked !== null ?
        <Sent asked={asked} again={() => setAsked(null)} /> :
        (
          <form onSubmit={(event) => void submit(event)} className="stack" noValidate>
            <div>
              <h1>Sign in</h1>
              <p className="lead">With your Matrix account. crossfire never asks for your password.</p>
            </div>
            <TextInput
              ref={field}
              label="Your Matrix ID"
              description="The bot sends a link into your chat."
              placeholder="@alice:example.org"
              leftSection={<IconBrandMatrix size={18} stroke={1.6} aria-hidden />}
              size="md"
              value={user}
              maxLength={300}
              autoFocus
              autoComplete="username"
              autoCapitalize="none"
              spellCheck={false}
              error={complaint}
              onChange={(event) => setUser(event.currentTarget.value)}
            />
            {ask.problem === null ? null : <ProblemNote problem={ask.problem} />}
            <Button type="submit" size="md" loading={ask.busy}>Send me a link</Button>
          </form>
        )}
    </Alone>
  )
}
