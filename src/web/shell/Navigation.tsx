// The ways to the pages, each with what waits there, and who is signed in.
import { useAtomValue } from "@effect-atom/atom-react"
import * as Result from "@effect-atom/atom/Result"
import { Button, VisuallyHidden } from "@mantine/core"
import type { Icon } from "@tabler/icons-react"
import IconDeviceLaptop from "@tabler/icons-react/dist/esm/icons/IconDeviceLaptop.mjs"
import IconInbox from "@tabler/icons-react/dist/esm/icons/IconInbox.mjs"
import IconLogout from "@tabler/icons-react/dist/esm/icons/IconLogout.mjs"
import IconMailPlus from "@tabler/icons-react/dist/esm/icons/IconMailPlus.mjs"
import IconStack2 from "@tabler/icons-react/dist/esm/icons/IconStack2.mjs"
import IconUsers from "@tabler/icons-react/dist/esm/icons/IconUsers.mjs"
import { Option } from "effect"
import { NavLink } from "react-router"
import { pagePaths } from "../../domain/WebPaths.ts"
import { useAct } from "../Act.ts"
import { Api, requests, signup } from "../Api.ts"
import { UserIdText } from "../parts/Outside.tsx"
import { ProblemNote } from "../parts/ProblemNote.tsx"
import { useSession } from "../Session.ts"
import { Mark } from "./Mark.tsx"
import { Scheme } from "./Scheme.tsx"

const Way = ({ count = 0, icon: Symbol, leave, name, to }: {
  readonly to: string
  readonly name: string
  readonly icon: Icon
  readonly count?: number
  readonly leave: () => void
}) => (
  <li>
    <NavLink to={to} end={to === pagePaths.fleets} className="way" onClick={leave}>
      <Symbol size={18} stroke={1.7} aria-hidden />
      <span className="way-name">{name}</span>
      {count === 0 ? null : (
        <span className="way-count">
          {count}
          <VisuallyHidden>{" waiting"}</VisuallyHidden>
        </span>
      )}
    </NavLink>
  </li>
)

export const Navigation = ({ leave }: { readonly leave: () => void }) => {
  const { role, userId } = useSession()
  const waiting = Option.getOrElse(Result.value(useAtomValue(requests)), () => [])
  const rules = Result.value(useAtomValue(signup))
  const mayInvite = role === "administrator" || Option.exists(rules, (view) => view.mayInvite)
  const signOut = useAct(Api.mutation("session", "signOut"))
  const leaveForGood = async () => {
    // A new page from the server: nothing of this person stays in memory.
    if (Option.isSome(await signOut.run({ payload: {} }))) location.assign(pagePaths.signIn)
  }
  return (
    <div className="rail-inner">
      <div className="rail-head">
        <Mark />
      </div>
      <nav aria-label="Pages">
        <ul className="ways">
          <Way to={pagePaths.fleets} name="Fleets" icon={IconStack2} leave={leave} />
          <Way
            to={pagePaths.requests}
            name="Requests"
            icon={IconInbox}
            count={waiting.filter(({ state }) => state === "pending").length}
            leave={leave}
          />
          {mayInvite
            ? <Way to={pagePaths.invitations} name="Invitations" icon={IconMailPlus} leave={leave} />
            : null}
          {role === "administrator"
            ? <Way to={pagePaths.people} name="People" icon={IconUsers} leave={leave} />
            : null}
          <Way to={pagePaths.sessions} name="Sessions" icon={IconDeviceLaptop} leave={leave} />
        </ul>
      </nav>
      <div className="rail-foot">
        <p className="who">
          <span className="who-label">{role === "administrator" ? "Administrator" : "Signed in as"}</span>
          <UserIdText userId={userId} />
        </p>
        {signOut.problem === null ? null : <ProblemNote problem={signOut.problem} />}
        <div className="rail-acts">
          <Button
            variant="default"
            size="xs"
            fullWidth
            loading={signOut.busy}
            leftSection={<IconLogout size={15} stroke={1.7} aria-hidden />}
            onClick={() => void leaveForGood()}
          >
            Sign out
          </Button>
          <Scheme />
        </div>
      </div>
    </div>
  )
}
