// The agent's own socket: its HTTP contract served to whoever can open it, which is this agent's activation.
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { type Effect, Layer, type Scope } from "effect"
import { AgentSocketApi, maxToolBodyBytes } from "../../domain/api/AgentSocket.ts"
import * as ApiSocketServer from "../http/ApiSocketServer.ts"
import type { ListenFailed } from "../http/ScopedHttpServer.ts"
import type { ToolCaller } from "./ToolCaller.ts"

const handlers = (caller: ToolCaller) =>
  HttpApiBuilder.group(AgentSocketApi, "tools", (group) =>
    group
      .handle("send", ({ payload }) =>
        caller.send(payload.toolCallId ?? null, {
          room: payload.room,
          text: payload.text,
          replyTo: payload.replyTo ?? null,
          mentions: payload.mentions ?? []
        }))
      .handle("whoami", () => caller.whoAmI))

/** Serves the contract on that path until the scope closes. */
export const open = (path: string, caller: ToolCaller): Effect.Effect<void, ListenFailed, Scope.Scope> =>
  ApiSocketServer.open(
    path,
    maxToolBodyBytes,
    HttpApiBuilder.api(AgentSocketApi).pipe(Layer.provide(handlers(caller)))
  )
