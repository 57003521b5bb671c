// How the engines are told about the scripted model: the contents of the files that Codex and Pi read at start.
import { Schema } from "effect"
import { stringify as stringifyToml } from "smol-toml"

export const scriptedModelId = "scripted-1"
export const scriptedProviderId = "scripted"
export const scriptedEfforts = ["low", "medium", "high"] as const

/** Larger than any test's history, so that no engine ever compacts. */
const contextWindowTokens = 10_000_000

const encode = Schema.encodeSync(Schema.parseJson(Schema.Unknown))

/**
 * One model in the form of `codex debug models`. Without `tool_mode` Codex offers function tools (its own models run in
 * "code mode"), and without the search tool it offers those of an MCP server at once.
 */
export const codexModel = {
  slug: scriptedModelId,
  display_name: "Scripted 1",
  description: "Answers by a script on this machine.",
  default_reasoning_level: "low",
  supported_reasoning_levels: scriptedEfforts.map((effort) => ({ effort, description: effort })),
  shell_type: "unified_exec",
  visibility: "list",
  supported_in_api: true,
  priority: 1,
  default_reasoning_summary: "none",
  support_verbosity: false,
  truncation_policy: { mode: "tokens", limit: 10_000 },
  context_window: contextWindowTokens,
  max_context_window: contextWindowTokens,
  experimental_supported_tools: [],
  input_modalities: ["text"],
  supports_search_tool: false,
  base_instructions: "You answer by a script."
}

/** The content of the file that `model_catalog_json` names in Codex's `config.toml`. */
export const modelCatalog = (): string => encode({ models: [codexModel] })

/** The part of Codex's `config.toml` that chooses the model and its provider. A failed request is not repeated. */
export const codexConfig = (baseUrl: string, catalogPath: string): string =>
  stringifyToml({
    model: scriptedModelId,
    model_provider: scriptedProviderId,
    model_catalog_json: catalogPath,
    model_providers: {
      [scriptedProviderId]: {
        name: "Scripted",
        base_url: baseUrl,
        wire_api: "responses",
        request_max_retries: 0,
        stream_max_retries: 0
      }
    }
  })

/** The content of Pi's `models.json`: provider `scripted`, model `scripted-1`. No key is needed, but Pi wants one. */
export const piModels = (baseUrl: string): string =>
  encode({
    providers: {
      [scriptedProviderId]: {
        baseUrl,
        api: "openai-responses",
        apiKey: "scripted",
        models: [{
          id: scriptedModelId,
          name: "Scripted 1",
          reasoning: true,
          // A level without an entry keeps its name; `null` takes the level away.
          thinkingLevelMap: { off: null, minimal: null },
          input: ["text"],
          contextWindow: contextWindowTokens,
          maxTokens: 100_000,
          cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
        }]
      }
    }
  })
