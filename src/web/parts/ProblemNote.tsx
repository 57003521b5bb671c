// Says what went wrong, beside what it went wrong with, and offers to try again where that can help.
import { Button } from "@mantine/core"
import IconAlertTriangle from "@tabler/icons-react/dist/esm/icons/IconAlertTriangle.mjs"
import { problemText } from "../Problem.ts"
import { Outside } from "./Outside.tsx"

export const ProblemNote = ({ problem, retry }: { readonly problem: unknown; readonly retry?: () => void }) => {
  const { mayPass, text } = problemText(problem)
  return (
    <div className="problem" role="alert">
      <IconAlertTriangle size={18} stroke={1.8} aria-hidden />
      <div className="problem-text">
        {text.split("\n").map((line, index) => (
          <p key={index}>
            <Outside text={line} />
          </p>
        ))}
      </div>
      {retry === undefined || !mayPass
        ? null
        : <Button size="compact-sm" variant="default" onClick={retry}>Try again</Button>}
    </div>
  )
}
