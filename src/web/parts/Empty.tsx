// A place with nothing in it yet: what belongs here, and what to do so that it comes.
import type { Icon } from "@tabler/icons-react"
import type { ReactNode } from "react"

export const Empty = ({ children, icon: Symbol, title }: {
  readonly icon: Icon
  readonly title: string
  readonly children: ReactNode
}) => (
  <section className="empty">
    <span className="empty-icon" aria-hidden>
      <Symbol size={26} stroke={1.5} />
    </span>
    <h2>{title}</h2>
    {children}
  </section>
)
