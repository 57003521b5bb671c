// An address at which no page stands.
import IconMapOff from "@tabler/icons-react/dist/esm/icons/IconMapOff.mjs"
import { Link } from "react-router"
import { pagePaths } from "../../domain/WebPaths.ts"
import { Empty } from "../parts/Empty.tsx"
import { Page } from "../parts/Page.tsx"

export const NotHere = () => (
  <Page title="Nothing is here">
    <Empty icon={IconMapOff} title="No page stands at this address">
      <p>It may have been mistyped, or what it showed is gone.</p>
      <p>
        <Link to={pagePaths.fleets}>Go to the fleets</Link>
      </p>
    </Empty>
  </Page>
)
