// The frame of one page: its title, which takes the focus when one comes here, what it is for, and its main act.
import { type ReactNode, useEffect, useRef } from "react"

export const Page = ({ act, children, lead, title }: {
  readonly title: string
  readonly lead?: ReactNode
  readonly act?: ReactNode
  readonly children: ReactNode
}) => {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    // After a change of page a screen reader reads on from here; at the first page the browser's own start is kept.
    if (document.activeElement !== document.body || history.state?.idx > 0) heading.current?.focus()
  }, [])
  return (
    <>
      <header className="page-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>{title}</h1>
          {lead === undefined ? null : <p className="lead">{lead}</p>}
        </div>
        {act === undefined ? null : <div className="page-act">{act}</div>}
      </header>
      {children}
    </>
  )
}
