// Who sent an event, from crossfire's own tables and the names that only crossfire can have.
import { Effect } from "effect"
import type { Sender } from "../../domain/Decision.ts"
import type { UserId } from "../../domain/Ids.ts"
import { botUser, controlUser } from "../../domain/SystemUsers.ts"
import { Instance } from "../../services/Instance.ts"
import { Agents } from "../../services/store/Agents.ts"

export const make = Effect.gen(function*() {
  const { serverName } = yield* Instance
  const agents = yield* Agents

  /** These users as the tables know them now; asked for again for every decision. */
  const among = (userIds: ReadonlyArray<UserId>) =>
    Effect.gen(function*() {
      const users = [...new Set(userIds)]
      const known = yield* agents.byUsers(users)
      const owners = [...known.values()].map((agent) => agent.owner)
      const deactivated = yield* agents.deactivatedAmong([...new Set([...users, ...owners])])
      return (userId: UserId): Sender => {
        if (userId === botUser(serverName) || userId === controlUser(serverName)) return { kind: "crossfire", userId }
        const agent = known.get(userId)
        if (agent === undefined) return { kind: "person", userId, active: !deactivated.has(userId) }
        const { active, agentId, owner } = agent
        return { kind: "agent", userId, agentId, owner, ownerActive: !deactivated.has(owner), active }
      }
    })

  return { among }
})

export type Senders = Effect.Effect.Success<typeof make>
