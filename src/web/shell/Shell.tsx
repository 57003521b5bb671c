// What stands around every page of somebody signed in: the ways to the others, and whether the page is still true.
import { useAtomValue } from "@effect-atom/atom-react"
import * as Result from "@effect-atom/atom/Result"
import { ActionIcon, Button, Drawer, VisuallyHidden } from "@mantine/core"
import { useDisclosure } from "@mantine/hooks"
import IconMenu2 from "@tabler/icons-react/dist/esm/icons/IconMenu2.mjs"
import IconPlugConnectedX from "@tabler/icons-react/dist/esm/icons/IconPlugConnectedX.mjs"
import type { ReactNode } from "react"
import { useLocation } from "react-router"
import { connection, retryNow } from "../Live.ts"
import { Mark } from "./Mark.tsx"
import { Navigation } from "./Navigation.tsx"

const LostBar = () => {
  const state = Result.getOrElse(useAtomValue(connection), () => "connecting" as const)
  return (
    <div role="status">
      {state !== "lost" ? null : (
        <div className="lost">
          <IconPlugConnectedX size={17} stroke={1.8} aria-hidden />
          <span>The connection to crossfire is lost. What you see may be out of date.</span>
          <Button size="compact-sm" variant="default" onClick={retryNow}>Try now</Button>
        </div>
      )}
    </div>
  )
}

export const Shell = ({ children }: { readonly children: ReactNode }) => {
  const [opened, menu] = useDisclosure(false)
  const { pathname } = useLocation()
  return (
    <div className="shell">
      <a className="skip" href="#content">Skip to the page</a>
      <aside className="rail">
        <Navigation leave={menu.close} />
      </aside>
      <header className="top">
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label="Open the menu" onClick={menu.open}>
          <IconMenu2 size={20} stroke={1.7} aria-hidden />
        </ActionIcon>
        <Mark />
      </header>
      <Drawer
        opened={opened}
        onClose={menu.close}
        size={280}
        title={
          <>
            <VisuallyHidden>{"Menu of "}</VisuallyHidden>
            <Mark />
          </>
        }
        closeButtonProps={{ "aria-label": "Close the menu" }}
        className="rail-drawer"
      >
        <Navigation leave={menu.close} />
      </Drawer>
      <main id="content" tabIndex={-1}>
        <LostBar />
        <div className="page" key={pathname}>{children}</div>
      </main>
    </div>
  )
}
