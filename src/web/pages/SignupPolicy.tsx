// By what policy people come in, as it stands and as an administrator changes it.
import { Button, Radio, Stack } from "@mantine/core"
import { Option } from "effect"
import { type FormEvent, useState } from "react"
import type { SignupView } from "../../domain/api/People.ts"
import type { SignupPolicy } from "../../domain/Signup.ts"
import { useAct } from "../Act.ts"
import { Api } from "../Api.ts"
import { sayDone } from "../parts/Done.ts"
import { OutsideBlock } from "../parts/Outside.tsx"
import { ProblemNote } from "../parts/ProblemNote.tsx"

const policies: ReadonlyArray<{ readonly value: SignupPolicy; readonly label: string; readonly description: string }> =
  [
    { value: "invite", label: "By invitation of administrators", description: "Nobody signs up without a token." },
    { value: "members", label: "By invitation of any member", description: "Every member may make tokens, too." },
    { value: "open", label: "Open", description: "Anybody who reaches the homeserver makes an account." }
  ]

export const SignupPolicyCard = ({ rules }: { readonly rules: SignupView }) => {
  const set = useAct(Api.mutation("signup", "set"))
  const [policy, setPolicy] = useState<SignupPolicy>(rules.policy)
  const current = policies.find(({ value }) => value === rules.policy)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    const answer = await set.run({ payload: { policy }, reactivityKeys: ["signup", "invitations"] })
    if (Option.isSome(answer)) sayDone("The signup policy is changed")
  }
  return (
    <section className="card pad" aria-labelledby="policy">
      <h2 id="policy">Signup</h2>
      {!rules.mayChange
        ? (
          <p>
            <strong>{current?.label}.</strong> {current?.description}
          </p>
        )
        : (
          <form className="stack" onSubmit={(event) => void submit(event)}>
            <Radio.Group
              aria-labelledby="policy"
              value={policy}
              onChange={(value) => {
                const chosen = policies.find((one) => one.value === value)
                if (chosen !== undefined) setPolicy(chosen.value)
                set.clear()
              }}
            >
              <Stack gap="sm">
                {policies.map(({ description, label, value }) => (
                  <Radio key={value} value={value} label={label} description={description} />
                ))}
              </Stack>
            </Radio.Group>
            {set.problem === null ? null : <ProblemNote problem={set.problem} />}
            {policy === rules.policy ? null : (
              <div className="policy-act">
                <Button type="submit" loading={set.busy}>Change the policy</Button>
                <span className="fine">
                  {rules.homeserver === "managed"
                    ? "The homeserver starts anew: Element reconnects by itself within seconds."
                    : "On your own homeserver it takes the steps that are shown then."}
                </span>
              </div>
            )}
          </form>
        )}
      {rules.steps === null ? null : (
        <div className="stack">
          <h3>On your own homeserver</h3>
          <p className="fine">Its administrator does this so that the policy holds there:</p>
          <OutsideBlock label="Steps for your own homeserver" text={rules.steps} />
        </div>
      )}
    </section>
  )
}
