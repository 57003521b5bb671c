// Asks for a sign-in link: the bot sends it into the person's chat, and it is good in this browser alone.
import { useAtomRefresh, useAtomValue } from "@effect-atom/atom-react"
import * as Result from "@effect-atom/atom/Result"
import { Anchor, Button, TextInput } from "@mantine/core"
import IconBrandMatrix from "@tabler/icons-react/dist/esm/icons/IconBrandMatrix.mjs"
import IconMessage2Check from "@tabler/icons-react/dist/esm/icons/IconMessage2Check.mjs"
import { Option } from "effect"
import { type FormEvent, useEffect, useRef, useState } from "react"
import type { UserId } from "../../domain/Ids.ts"
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
          <li>Only people whom an administrator has made known can sign in. Ask yours.</li>
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
  const [missing, setMissing] = useState(false)
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
    setMissing(typed === "")
    if (typed === "") return field.current?.focus()
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
              error={missing ? "Type your Matrix ID, as Element shows it under your name" : null}
              onChange={(event) => setUser(event.currentTarget.value)}
            />
            {ask.problem === null ? null : <ProblemNote problem={ask.problem} />}
            <Button type="submit" size="md" loading={ask.busy}>Send me a link</Button>
          </form>
        )}
    </Alone>
  )
}
