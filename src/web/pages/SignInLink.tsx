// Uses a sign-in link, when the person says so: opening the page decides nothing, whoever fetches it.
import { Button } from "@mantine/core"
import IconLogin2 from "@tabler/icons-react/dist/esm/icons/IconLogin2.mjs"
import { Option, Schema } from "effect"
import { useEffect, useState } from "react"
import { Link } from "react-router"
import { SignInRefused } from "../../domain/api/AccessErrors.ts"
import { pagePaths } from "../../domain/WebPaths.ts"
import { useAct } from "../Act.ts"
import { Api } from "../Api.ts"
import { dropLink, heldLink, linkTaken } from "../LinkSecret.ts"
import { ProblemNote } from "../parts/ProblemNote.tsx"
import { takeBack, tellOtherTabs } from "../ReturnTo.ts"
import { Alone } from "../shell/Alone.tsx"

const focus = (node: HTMLElement | null) => node?.focus()

/** Pressing again cannot help. */
const refused = Schema.is(SignInRefused)

export const SignInLink = () => {
  const [link, setLink] = useState(heldLink)
  const complete = useAct(Api.mutation("signIn", "complete"))
  useEffect(() => {
    const take = () => {
      setLink(heldLink())
      complete.clear()
    }
    addEventListener(linkTaken, take)
    return () => removeEventListener(linkTaken, take)
  }, [complete.clear])

  const signIn = async () => {
    if (Option.isNone(link)) return
    const answer = await complete.run({ payload: { link: link.value } })
    if (Option.isNone(answer)) return
    dropLink()
    const to = takeBack()
    tellOtherTabs()
    location.replace(to)
  }

  return (
    <Alone>
      <h1>Sign in</h1>
      {Option.isSome(link)
        ? (
          <>
            {complete.problem === null
              ? (
                <p>
                  The link is good once, and only in the browser in which you asked for it. If you did not ask for one,
                  close this page: nothing happens until you press the button.
                </p>
              )
              : <ProblemNote problem={complete.problem} />}
            {refused(complete.problem)
              ? (
                <Button component={Link} to={pagePaths.signIn} variant="default" ref={focus}>
                  Ask for another link
                </Button>
              )
              : (
                <Button
                  size="md"
                  autoFocus
                  loading={complete.busy}
                  leftSection={<IconLogin2 size={18} stroke={1.7} aria-hidden />}
                  onClick={() => void signIn()}
                >
                  Sign in
                </Button>
              )}
          </>
        )
        : (
          <>
            <p>
              There is no link here any more. It leaves the address as soon as the page opens, so loading the page again
              loses it. Open it from the chat once more, or ask for another one.
            </p>
            <Button component={Link} to={pagePaths.signIn} variant="default">Ask for a link</Button>
          </>
        )}
    </Alone>
  )
}
