// What the administrator of a homeserver of your own does so that the instance's signup rule holds there too. Text only.
import type { SignupPolicy } from "../../../domain/Signup.ts"

const tokens = [
  "1. Ask a registration token of whoever registers. In homeserver.yaml:",
  "",
  "     enable_registration: true",
  "     registration_requires_token: true",
  "",
  "   and without `enable_registration_without_verification`. Restart the homeserver.",
  "2. Make one token a person, with an administrator's access token of that homeserver. Without `token` the homeserver",
  "   makes a short one itself, so name 32 random bytes:",
  "",
  "     curl -X POST -H \"Authorization: Bearer $ADMIN_TOKEN\" \\",
  "       -d \"{\\\"token\\\": \\\"$(openssl rand -base64 32 | tr '+/' '-_' | tr -d '=')\\\", \\\"uses_allowed\\\": 1}\" \\",
  "       https://matrix.example.org/_synapse/admin/v1/registration_tokens/new",
  ""
]

const steps: Readonly<Record<SignupPolicy, ReadonlyArray<string>>> = {
  invite: [
    "On a homeserver of your own its administrator invites; crossfire makes no tokens there.",
    "",
    ...tokens,
    "3. Make each person known here: on the page of people, or with `crossfire person add NAME`."
  ],
  members: [
    "On a homeserver of your own its administrator invites for the members; crossfire makes no tokens there.",
    "",
    ...tokens,
    "3. Make each person known here: on the page of people, or with `crossfire person add NAME`."
  ],
  open: [
    "Whoever has an account on your homeserver comes in here by signing in. For open registration there, in homeserver.yaml:",
    "",
    "     enable_registration: true",
    "     enable_registration_without_verification: true",
    "",
    "and without `registration_requires_token`. Restart the homeserver. Anybody who reaches it can then make an account."
  ]
}

export const signupSteps = (policy: SignupPolicy): string => steps[policy].join("\n")
