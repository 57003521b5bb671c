// Who sent an event, from crossfire's own tables and the names that only crossfire can have.
import type { Sender } from "../../domain/Decision.ts"
import type { UserId } from "../../domain/Ids.ts"
import { botUser, controlUser } from "../../domain/SystemUsers.ts"
import type { Agent } from "../../services/store/Agents.ts"

export const senderOf = (
  userId: UserId,
  agents: ReadonlyMap<UserId, Agent>,
  serverName: string
): Sender => {
  if (userId === botUser(serverName) || userId === controlUser(serverName)) return { kind: "crossfire", userId }
  const agent = agents.get(userId)
  return agent === undefined
    ? { kind: "person", userId }
    : { kind: "agent", userId, agentId: agent.agentId, owner: agent.owner, active: agent.active }
}
