// A dialog in which one thing is decided: what follows from it, the fields it needs, and one button that does it. It holds
// the focus and gives it back.
import { Button, Modal } from "@mantine/core"
import { type FormEvent, type ReactNode, useEffect, useState } from "react"
import type { Act } from "../Act.ts"
import { ProblemNote } from "./ProblemNote.tsx"

/** What had the focus; where that was an item of a menu, the menu's button, since the menu is gone afterwards. */
const opener = (): HTMLElement | null => {
  const active = document.activeElement
  const button = active?.closest("[role=menu]")?.getAttribute("aria-labelledby")
  const found = button === null || button === undefined ? active : document.getElementById(button)
  return found instanceof HTMLElement ? found : null
}

/** Open as long as it is there. */
export const useFocusBack = () => {
  const [before] = useState(opener)
  useEffect(() => () => {
    if (before?.isConnected === true) before.focus()
  }, [before])
}

export const AskDialog = ({ act, children, close, danger = false, does, doing, title }: {
  readonly close: () => void
  readonly title: ReactNode
  readonly does: string
  readonly doing: () => void
  /** What `doing` runs: while it does nothing else is begun, and what stood against it is shown. */
  readonly act: Pick<Act<never, unknown>, "busy" | "problem">
  readonly danger?: boolean
  readonly children: ReactNode
}) => {
  useFocusBack()
  const { busy, problem } = act
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!busy) doing()
  }
  return (
    <Modal
      opened
      returnFocus={false}
      onClose={close}
      title={title}
      centered
      size="md"
      closeButtonProps={{ "aria-label": "Close" }}
      overlayProps={{ backgroundOpacity: 0.45, blur: 2 }}
    >
      <form onSubmit={submit} noValidate className="stack">
        {children}
        {problem === null ? null : <ProblemNote problem={problem} />}
        <div className="dialog-acts">
          <Button variant="default" onClick={close} data-autofocus={danger ? true : undefined}>Cancel</Button>
          <Button type="submit" color={danger ? "red" : "pine"} loading={busy}>{does}</Button>
        </div>
      </form>
    </Modal>
  )
}
