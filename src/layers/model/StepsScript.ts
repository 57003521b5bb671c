// The script that a test writes into the input itself: `<<[ …JSON steps… ]>>`. And the one that only echoes.
import { Either, Option, Schema } from "effect"
import type { Conversation } from "./Conversation.ts"
import { type Script, Step } from "./Script.ts"

const decodeSteps = Schema.decodeEither(Schema.parseJson(Schema.NonEmptyArray(Step)), { onExcessProperty: "error" })
const encodeSteps = Schema.encodeSync(Schema.parseJson(Schema.Array(Step)))

/** The text that makes `steps` take these steps, to be placed anywhere in an input. */
export const writeSteps = (...steps: ReadonlyArray<Step>): string => `<<${encodeSteps(steps)}>>`

const scriptIn = /<<(\[[\s\S]*?\])>>/gu

const echoed = (text: string): Step => ({ text: `ok: ${text.slice(0, 60)}` })

/** The last input that is ours, with the number of tool outputs since. */
const latestInput = (conversation: Conversation) => {
  let text = ""
  let outputs = 0
  for (const turn of conversation) {
    if (turn._tag === "UserInput" && !turn.injected) {
      text = turn.text
      outputs = 0
    } else if (turn._tag === "ToolOutput") outputs++
  }
  return { text, outputs }
}

/**
 * Takes the step whose number is the tool outputs seen since the newest input; beyond the last step, the last one again.
 * An input without steps is echoed. Steps that cannot be read are refused with status 400, so that a test fails loudly.
 */
export const steps: Script = (conversation) => {
  const { outputs, text } = latestInput(conversation)
  const json = Option.fromNullable([...text.matchAll(scriptIn)].at(-1)?.[1])
  if (Option.isNone(json)) return echoed(text)
  const script = decodeSteps(json.value)
  if (Either.isLeft(script)) return { status: 400, message: `unreadable steps: ${script.left.message}` }
  return script.right[Math.min(outputs, script.right.length - 1)] ?? script.right[0]
}

/** Ends every turn at once. */
export const echo: Script = (conversation) => echoed(latestInput(conversation).text)
