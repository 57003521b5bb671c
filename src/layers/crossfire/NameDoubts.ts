// Which display names in a room a reader could be taken in by: those that imitate an agent of the instance, the reading
// agent's owner or crossfire itself, and those that hide something. It grants and refuses nothing.
import { Effect } from "effect"
import type { UserId } from "../../domain/Ids.ts"
import { displaySkeleton, doubtIn, type NameDoubt, readsAs } from "../../domain/NameLikeness.ts"
import { botUser, controlUser } from "../../domain/SystemUsers.ts"
import { Instance } from "../../services/Instance.ts"
import { type Agent, Agents } from "../../services/store/Agents.ts"

const localpart = (user: UserId): string => user.slice(1).split(":")[0] ?? ""

export const make = Effect.gen(function*() {
  const { serverName } = yield* Instance
  const agents = yield* Agents
  const bot = botUser(serverName)

  /** Of these people's names, as one room has them; `reading` is the agent that is given them. */
  const among = (reading: Agent, names: ReadonlyMap<UserId, string | null>) =>
    Effect.gen(function*() {
      const senders = yield* agents.byUsers([...names.keys()])
      // crossfire itself names its own users.
      const people = [...names].flatMap(([user, name]) =>
        name === null || senders.has(user) || user === bot || user === controlUser(serverName) ? [] : [{ user, name }]
      )
      const alike = yield* agents.byNameSkeletons([...new Set(people.flatMap(({ name }) => readsAs(name)))])
      const ownerName = names.get(reading.owner) ?? null
      const owner = new Set(
        [localpart(reading.owner), reading.owner, ...(ownerName === null ? [] : [ownerName])].map(displaySkeleton)
      )
      const imitated = (user: UserId, name: string): UserId | null => {
        const forms = readsAs(name)
        if (user !== reading.owner && forms.some((form) => owner.has(form))) return reading.owner
        if (forms.includes(displaySkeleton("crossfire"))) return bot
        const form = forms.find((each) => alike.has(each))
        return form === undefined ? null : alike.get(form)?.userId ?? null
      }
      return new Map(people.map(({ name, user }): readonly [UserId, NameDoubt | null] => {
        const like = imitated(user, name)
        return [user, like === null ? doubtIn(name) : { problem: "imitates", like }]
      }))
    })

  return { among }
})
