// What the owner is told of an agent when it cannot go on by itself, each incident once. Words and topics only: what is
// done about it is the receiver's.
import { Effect } from "effect"
import type { FleetAgent } from "../../domain/FleetAgent.ts"
import type { AgentId, DeliveryId } from "../../domain/Ids.ts"
import { FleetOutbox } from "../../services/FleetOutbox.ts"
import { Signals } from "../../services/Signals.ts"

const heldTopic = (agentId: AgentId): string => `held:${agentId}`
const failingTopic = (agentId: AgentId): string => `failing:${agentId}`
const credentialTopic = (agentId: AgentId): string => `credential:${agentId}`
const acknowledgmentTopic = (agentId: AgentId): string => `acknowledgment:${agentId}`
const leftoverTopic = (agentId: AgentId): string => `leftover:${agentId}`

export const credentialReason = "crossfire does not accept its credential, which was revoked"

export const make = Effect.gen(function*() {
  const outbox = yield* FleetOutbox
  const signals = yield* Signals
  const tell = (topic: string, text: string) => Effect.zipRight(outbox.notice(topic, text), signals.outbox)
  return {
    /** Nothing starts until the owner acts. */
    held: (agent: FleetAgent, reason: string) =>
      Effect.zipRight(
        tell(
          heldTopic(agent.agentId),
          `The agent ${agent.name} is held: ${reason}. Nothing was lost; after mending it: fleet start ${agent.name}`
        ),
        Effect.logError("agent held").pipe(Effect.annotateLogs({ agent: agent.name, reason }))
      ),
    freed: (agentId: AgentId) => outbox.closeTopic(heldTopic(agentId)),
    /** Nothing is delivered to it until it has another one. */
    credentialRefused: (agent: FleetAgent) =>
      Effect.zipRight(
        tell(
          credentialTopic(agent.agentId),
          `The agent ${agent.name} is held: ${credentialReason}. Nothing was lost; it goes on by itself after: ` +
            "fleet credentials rotate"
        ),
        Effect.logError("agent held").pipe(Effect.annotateLogs({ agent: agent.name, reason: credentialReason }))
      ),
    credentialTaken: (agentId: AgentId) => outbox.closeTopic(credentialTopic(agentId)),
    /** It stays first of the agent's in the outbox, and the later ones wait behind it. */
    acknowledgmentRefused: (agent: FleetAgent, deliveryId: DeliveryId, reason: string) =>
      Effect.zipRight(
        tell(
          acknowledgmentTopic(agent.agentId),
          `crossfire does not take an acknowledgment of the agent ${agent.name} (delivery ${deliveryId}): ${reason}. ` +
            "Messages are delivered as before and none twice, but crossfire goes on telling those ones as open. " +
            "Use the same version on both sides; it is tried again every minute."
        ),
        Effect.logError("acknowledgment refused").pipe(
          Effect.annotateLogs({ agent: agent.name, delivery: deliveryId, reason })
        )
      ),
    acknowledged: (agentId: AgentId) => outbox.closeTopic(acknowledgmentTopic(agentId)),
    /** Its last turns failed, and nothing goes on by itself any more: a provider that refuses, say. */
    failing: (agent: FleetAgent) =>
      tell(
        failingTopic(agent.agentId),
        `The last turns of the agent ${agent.name} failed; its messages were delivered, and their work is not finished. ` +
          `Look at its provider and its history; the next message, or fleet send ${agent.name} TEXT, makes it go on.`
      ),
    workedAgain: (agentId: AgentId) => outbox.closeTopic(failingTopic(agentId)),
    /** The agent itself is told by the notice input, unless it is retired; its owner by this. */
    unknownInput: (agent: FleetAgent, deliveryId: DeliveryId) =>
      tell(
        `unknown:${deliveryId}`,
        `It could not be proven whether an input reached the agent ${agent.name} before the machine went down. ` +
          (agent.retired
            ? "The agent is retired, and is given nothing any more."
            : "The agent is told so, with the complete earlier text.")
      ),
    leftover: (agent: FleetAgent, processIds: ReadonlyArray<number>) =>
      tell(
        leftoverTopic(agent.agentId),
        `Processes of the agent ${agent.name} cannot be ended (${
          processIds.join(", ")
        }); it stays down until they are gone`
      ),
    /** Nothing can be done about it any more, whatever it was. */
    ofRetired: (agentId: AgentId) =>
      Effect.forEach(
        [heldTopic, failingTopic, credentialTopic, acknowledgmentTopic],
        (topicOf) => outbox.closeTopic(topicOf(agentId)),
        { discard: true }
      ),
    nothingLeft: (agentId: AgentId) => outbox.closeTopic(leftoverTopic(agentId))
  }
})
