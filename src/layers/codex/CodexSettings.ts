// What an owner sets for Codex, and the two forms in which Codex takes it: `config.toml`, equal for every activation, and
// a thread's own configuration, which alone carries what belongs to one run.
import { stringify } from "smol-toml"
import type { RunId } from "../../domain/Ids.ts"
import type { Activation } from "../../services/NativeEngine.ts"
import { engineEnvironment, inheritedNames } from "../engine/EngineEnvironment.ts"
import { runMarkerName } from "../process/RunMarker.ts"

export type SandboxMode = "read-only" | "workspace-write" | "danger-full-access"
export type ApprovalPolicy = "untrusted" | "on-request" | "never"

/** A provider of one's own in place of Codex's; without one Codex uses OpenAI with the host's login. */
export interface CodexProvider {
  readonly id: string
  readonly name: string
  readonly baseUrl: string
  /** Absolute path of a file in the form of `codex debug models`; `null` for the bundled list. */
  readonly modelCatalog: string | null
  /** Which variable of `extraEnvironment` holds the key; `null` for none. */
  readonly keyVariable: string | null
  readonly requestMaxRetries: number
  readonly streamMaxRetries: number
}

export interface CodexConfig {
  /** Absolute path of the native program (not of its npm launcher). */
  readonly binary: string
  /** Absolute path of the host's `auth.json`, linked and never copied; `null` where the provider needs no login. */
  readonly hostLogin: string | null
  /** The daemon's own environment, of which only the allowed names reach the engine. */
  readonly hostEnvironment: Readonly<Record<string, string | undefined>>
  /** Given to the engine on purpose (a provider's key, a proxy), and not to the commands that the agent runs. */
  readonly extraEnvironment?: Readonly<Record<string, string>>
  readonly provider?: CodexProvider | null
  readonly sandbox?: SandboxMode
  readonly approvalPolicy?: ApprovalPolicy
  /**
   * Whether Codex may take settings from the work folder. `trusted` lets a `.codex/config.toml` that lies there start
   * commands outside of the sandbox at the next activation (seen), whoever put it there.
   */
  readonly workFolderTrust?: "trusted" | "untrusted"
}

export type CodexSettings = Required<CodexConfig>

export const withDefaults = (config: CodexConfig): CodexSettings => ({
  extraEnvironment: {},
  provider: null,
  sandbox: "workspace-write",
  approvalPolicy: "never",
  workFolderTrust: "untrusted",
  ...config
})

/** The engine's whole environment. What the host sets for its own Codex (`CODEX_*`, `OPENAI_*`) is not in it. */
export const environmentOf = (settings: CodexSettings, codexHome: string): Record<string, string> => ({
  ...engineEnvironment(settings),
  CODEX_HOME: codexHome
})

/** The content of `config.toml`: the same bytes for the same settings, and no secret. */
export const configToml = ({ provider }: CodexSettings): string =>
  stringify({
    cli_auth_credentials_store: "file",
    check_for_update_on_startup: false,
    ...(provider === null ? {} : { model_provider: provider.id }),
    ...(provider?.modelCatalog == null ? {} : { model_catalog_json: provider.modelCatalog }),
    // Sub-agents would write histories of their own, and one of their tools is called `send_message`.
    agents: { enabled: false },
    // Goals would start turns that nobody submitted; plugins fetch their market place from the network at every start.
    features: { goals: false, plugins: false, remote_plugin: false },
    ...(provider === null ? {} : {
      model_providers: {
        [provider.id]: {
          name: provider.name,
          base_url: provider.baseUrl,
          wire_api: "responses",
          requires_openai_auth: false,
          request_max_retries: provider.requestMaxRetries,
          stream_max_retries: provider.streamMaxRetries,
          ...(provider.keyVariable === null ? {} : { env_key: provider.keyVariable })
        }
      }
    })
  })

/** The standing instructions as Codex reads them anew at every activation; it ignores changed ones in its own call. */
export const instructionsFile = ({ workFolderTrust }: CodexSettings, instructions: string): string =>
  workFolderTrust === "trusted"
    ? instructions
    : `${instructions.trimEnd()}\n\nBefore you work in a folder, read the AGENTS.md files that apply to it: they are not loaded for you.\n`

/** The configuration of one thread in one run. It outranks what lies in the work folder and is never written to disk. */
export const threadConfig = (
  settings: CodexSettings,
  { effort, runId, tools, workFolder }: Pick<Activation, "effort" | "tools" | "workFolder"> & { readonly runId: RunId }
) => ({
  ...(effort === null ? {} : { model_reasoning_effort: effort }),
  agents: { enabled: false },
  projects: { [workFolder]: { trust_level: settings.workFolderTrust } },
  mcp_servers: {
    fleet: {
      url: tools.mcpUrl,
      http_headers: { Authorization: `Bearer ${tools.mcpToken}` },
      required: true,
      default_tools_approval_mode: "approve"
    }
  },
  shell_environment_policy: {
    inherit: "all",
    set: { [runMarkerName]: runId, FLEET_SOCKET: tools.socketPath },
    include_only: [...inheritedNames, runMarkerName, "FLEET_SOCKET"]
  }
})
