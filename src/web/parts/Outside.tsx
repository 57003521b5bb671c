// Shows text that somebody else wrote: as text alone, isolated from the reading direction around it, with nothing unseen.
import { visiblePieces } from "../VisibleText.ts"

const Pieces = ({ keep, text }: { readonly text: string; readonly keep: string }) =>
  visiblePieces(text, keep).map((piece, index) =>
    piece._tag === "Text"
      ? <span key={index}>{piece.text}</span>
      : (
        <span key={index} className="hidden-char" title={`A character that cannot be seen: U+${piece.codePoint}`}>
          U+{piece.codePoint}
        </span>
      )
  )

export const Outside = ({ className, keep = "", text }: {
  readonly text: string
  readonly className?: string
  /** Characters that have a place here. */
  readonly keep?: string
}) => (
  <bdi className={className}>
    <Pieces text={text} keep={keep} />
  </bdi>
)

/** A whole text with its lines, in a box of its own that the keyboard can scroll. */
export const OutsideBlock = ({ label, text }: { readonly text: string; readonly label: string }) => (
  <section className="block" aria-label={label} tabIndex={0}>
    <pre>
      <bdi>
        <Pieces text={text.replaceAll("\r\n", "\n")} keep={"\n\t"} />
      </bdi>
    </pre>
  </section>
)

/** A full Matrix ID: the only identity of a person or an agent. */
export const UserIdText = ({ userId }: { readonly userId: string }) => <Outside className="mono id" text={userId} />
