// How something stands, in a word with a dot: the colour repeats the word and never replaces it.
export type Tone = "good" | "quiet" | "warn" | "bad"

export const State = ({ text, tone }: { readonly text: string; readonly tone: Tone }) => (
  <span className={`state state-${tone}`}>
    <span className="dot" aria-hidden />
    {text}
  </span>
)
