// The enrollment requests that wait for somebody's decision. They are read and decided one by one.
import IconChevronRight from "@tabler/icons-react/dist/esm/icons/IconChevronRight.mjs"
import IconInbox from "@tabler/icons-react/dist/esm/icons/IconInbox.mjs"
import { generatePath, Link } from "react-router"
import type { RequestView } from "../../domain/api/Management.ts"
import { pagePaths } from "../../domain/WebPaths.ts"
import { requests } from "../Api.ts"
import { CopyLine } from "../parts/Copy.tsx"
import { Empty } from "../parts/Empty.tsx"
import { Loaded } from "../parts/Loaded.tsx"
import { UserIdText } from "../parts/Outside.tsx"
import { Page } from "../parts/Page.tsx"
import { When } from "../parts/When.tsx"
import { useSession } from "../Session.ts"
import { RequestStateText } from "./RequestState.tsx"

const maxNames = 6

const Row = ({ request }: { readonly request: RequestView }) => {
  const { userId } = useSession()
  const more = request.names.length - maxNames
  return (
    <li className="row">
      <Link className="row-link" to={generatePath(pagePaths.review, { enrollmentId: request.enrollmentId })}>
        <span className="request-main">
          <span className="request-title">
            {request.fleetKey}
            {request.owner === userId ? null : (
              <span className="request-owner">
                {" of "}
                <UserIdText userId={request.owner} />
              </span>
            )}
          </span>
          <span className="request-names">
            {request.names.slice(0, maxNames).join(", ")}
            {more > 0 ? ` and ${more} more` : ""}
          </span>
        </span>
        <span className="request-side">
          <RequestStateText state={request.state} own={request.owner === userId} />
          <span className="fine">
            filed <When millis={request.createdAtMillis} />, expires <When millis={request.expiresAtMillis} />
          </span>
        </span>
        <IconChevronRight size={18} stroke={1.7} aria-hidden />
      </Link>
    </li>
  )
}

export const Requests = () => (
  <Page title="Requests" lead="Fleets that ask to be taken in. Only the owner named in a request can approve it.">
    <Loaded atom={requests}>
      {(views) =>
        views.length === 0
          ? (
            <Empty icon={IconInbox} title="No request waits">
              <p>One appears here by itself as soon as this runs on the machine where your agents are to work:</p>
              <CopyLine text={`fleet enroll roster.toml --server ${location.origin}`} what="the command" />
              <p className="fine">The command shows a code. You type it here, beside what the request asks for.</p>
            </Empty>
          )
          : (
            <ul className="rows card" aria-label="Requests">
              {views.map((request) => <Row key={request.enrollmentId} request={request} />)}
            </ul>
          )}
    </Loaded>
  </Page>
)
