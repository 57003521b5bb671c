// The frame of pages that stand before the sign-in: one thing in the middle.
import type { ReactNode } from "react"
import { Mark } from "./Mark.tsx"
import { Scheme } from "./Scheme.tsx"

export const Alone = ({ children }: { readonly children: ReactNode }) => (
  <div className="alone">
    <header className="alone-head">
      <Mark />
      <Scheme />
    </header>
    <main className="alone-card">{children}</main>
  </div>
)
