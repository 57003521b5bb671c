// `crossfire person …`: asks the server that runs in the data folder, as the operator.
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Effect, type Option, Schema } from "effect"
import { PersonRole } from "../../domain/Actor.ts"
import { AddedPerson } from "../../domain/api/Operator.ts"
import { PersonView } from "../../domain/api/People.ts"
import { UserId } from "../../domain/Ids.ts"
import { told } from "../../layers/crossfire/people/PersonAccount.ts"
import { jsonOption, valueArgument } from "../CommandLine.ts"
import { answerOn, dataOption } from "./CommandOptions.ts"
import * as OperatorClient from "./OperatorClient.ts"
import { promptedPassword } from "./PasswordPrompt.ts"
import { localName, personId } from "./PersonName.ts"

const encodePerson = Schema.encodeSync(PersonView)
const encodeAdded = Schema.encodeSync(AddedPerson)

const line = (person: PersonView): string =>
  [
    person.userId,
    person.role,
    person.active ? "active" : "deactivated",
    `${person.agents} ${person.agents === 1 ? "agent" : "agents"}`,
    `${person.sessions} ${person.sessions === 1 ? "session" : "sessions"}`
  ].join("  ")

/** The tag is the server's, which does not repeat whom it was asked for. */
class PersonUnknown extends Schema.TaggedError<PersonUnknown>()("NotFound", { userId: UserId }) {
  override get message(): string {
    return `${this.userId} is not known to this instance. Who is: crossfire person list`
  }
}

const nameArgument = Args.text({ name: "name" }).pipe(
  Args.withDescription("The name before the colon of the Matrix ID, or the whole ID")
)

const role = (person: PersonView) => person.role === "administrator" ? "an administrator" : "a member"

const add = Command.make(
  "add",
  {
    data: dataOption,
    json: jsonOption,
    name: nameArgument,
    admin: Options.boolean("admin").pipe(Options.withDescription("An administrator of this instance")),
    askPassword: Options.boolean("ask-password").pipe(
      Options.withDescription("Ask for the password; where it is left out, one is made and put into a private file")
    )
  },
  ({ admin, askPassword, data, json, name }) =>
    answerOn({ data, json }, (installation) =>
      Effect.gen(function*() {
        const localpart = yield* localName(name, installation.settings.server_name)
        const password = askPassword ? yield* promptedPassword : null
        const added = yield* OperatorClient.call(installation.data, (client) =>
          client.addPerson({
            payload: { name: localpart, role: admin ? "administrator" : "member", password }
          }))
        const { person } = added
        const account = added.account === "elsewhere"
          ? []
          : told(person.userId, { account: added.account, passwordFile: added.passwordFile })
        return {
          json: encodeAdded(added),
          text: [...account, `${person.userId} is ${role(person)} of this instance.`].join("\n")
        }
      }))
).pipe(Command.withDescription("Make a person known, with an account on the managed homeserver"))

const list = Command.make(
  "list",
  { data: dataOption, json: jsonOption },
  (options) =>
    answerOn(options, (installation) =>
      Effect.map(
        OperatorClient.call(installation.data, (client) => client.people({})),
        (people) => ({
          json: people.map((person) => encodePerson(person)),
          text: people.length === 0 ? "Nobody is known yet." : people.map(line).join("\n")
        })
      ))
).pipe(Command.withDescription("Who is known to this instance"))

type Change = (client: OperatorClient.Client, userId: UserId) => Effect.Effect<PersonView, OperatorClient.CallError>

/** Changes one person, who is named by a part of the ID or the whole, and says what they are now. */
const changed = (
  options: { readonly data: Option.Option<string>; readonly json: boolean; readonly name: string },
  change: Change,
  done: (person: PersonView) => string
) =>
  answerOn(options, (installation) =>
    Effect.gen(function*() {
      const userId = yield* personId(options.name, installation.settings.server_name)
      const person = yield* OperatorClient.call(installation.data, (client) => change(client, userId)).pipe(
        Effect.catchTag("NotFound", () => new PersonUnknown({ userId }))
      )
      return { json: encodePerson(person), text: `${person.userId} ${done(person)}.` }
    }))

const onePerson = (name: string, description: string, change: Change, done: string) =>
  Command.make(
    name,
    { data: dataOption, json: jsonOption, name: nameArgument },
    (options) => changed(options, change, () => done)
  ).pipe(Command.withDescription(description))

const setRole = Command.make(
  "role",
  {
    data: dataOption,
    json: jsonOption,
    name: nameArgument,
    role: valueArgument("role", { schema: PersonRole, takes: "member or administrator" }).pipe(
      Args.withDescription("member or administrator")
    )
  },
  (options) =>
    changed(
      options,
      (client, userId) => client.setRole({ path: { userId }, payload: { role: options.role } }),
      (person) => `is ${role(person)} of this instance`
    )
).pipe(Command.withDescription("Make somebody a member or an administrator; their sessions end with a change"))

const deactivate = onePerson(
  "deactivate",
  "End somebody's sessions and their right to wake agents, until they are reactivated",
  (client, userId) => client.deactivate({ path: { userId }, payload: {} }),
  "is deactivated"
)

const reactivate = onePerson(
  "reactivate",
  "Let somebody in again",
  (client, userId) => client.reactivate({ path: { userId }, payload: {} }),
  "is active again"
)

export const personCommand = Command.make("person").pipe(
  Command.withDescription("The people of this instance"),
  Command.withSubcommands([add, list, setRole, deactivate, reactivate])
)
