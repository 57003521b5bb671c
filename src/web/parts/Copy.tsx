// Text to take along: shown whole, with a button that copies it and says that it did.
import { ActionIcon, Button, CopyButton, VisuallyHidden } from "@mantine/core"
import IconCheck from "@tabler/icons-react/dist/esm/icons/IconCheck.mjs"
import IconCopy from "@tabler/icons-react/dist/esm/icons/IconCopy.mjs"
import type { ReactNode } from "react"
import { Outside } from "./Outside.tsx"

const shownMillis = 2_000

export const CopyIcon = ({ text, what }: { readonly text: string; readonly what: string }) => (
  <CopyButton value={text} timeout={shownMillis}>
    {({ copied, copy }) => (
      <>
        <ActionIcon variant="subtle" color="gray" size="sm" aria-label={`Copy ${what}`} onClick={copy}>
          {copied ? <IconCheck size={15} aria-hidden /> : <IconCopy size={15} stroke={1.7} aria-hidden />}
        </ActionIcon>
        <VisuallyHidden role="status">{copied ? "Copied" : ""}</VisuallyHidden>
      </>
    )}
  </CopyButton>
)

export const CopyBlock = ({ text, what }: { readonly text: string; readonly what: string }) => (
  <div className="copy-block">
    <pre><Outside text={text} keep={"\n"} /></pre>
    <CopyIcon text={text} what={what} />
  </div>
)

interface CopyProps {
  readonly text: string
  readonly what: string
  /** Takes the focus when its dialog opens. */
  readonly focused?: boolean
}

const CopyBy = ({ children, focused = false, text }: Omit<CopyProps, "what"> & { readonly children: ReactNode }) => (
  <CopyButton value={text} timeout={shownMillis}>
    {({ copied, copy }) => (
      <Button
        size="compact-sm"
        variant="default"
        data-autofocus={focused ? true : undefined}
        onClick={copy}
        leftSection={copied ? <IconCheck size={15} aria-hidden /> : <IconCopy size={15} stroke={1.7} aria-hidden />}
      >
        {copied ? "Copied" : "Copy"}
        {children}
      </Button>
    )}
  </CopyButton>
)

export const CopyText = ({ focused = false, text, what }: CopyProps) => (
  <CopyBy text={text} focused={focused}>{` ${what}`}</CopyBy>
)

export const CopyLine = ({ focused = false, text, what }: CopyProps) => (
  <div className="copy-line">
    <code>
      <Outside text={text} />
    </code>
    <CopyBy text={text} focused={focused}>
      <VisuallyHidden>{` ${what}`}</VisuallyHidden>
    </CopyBy>
  </div>
)
