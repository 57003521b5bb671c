// The configuration files of a managed Synapse as plain values: what each setting is and why. It writes and starts nothing.
import { Redacted } from "effect"
import type { RegistrationGate } from "../../domain/Signup.ts"

export interface SynapseConfig {
  readonly serverName: string
  /** Absolute; everything of this homeserver is in it. */
  readonly folder: string
  readonly port: number
  /** How people's clients reach it; null while they are on this machine only. */
  readonly publicBaseUrl: string | null
  /** What whoever registers must bring: a registration token, or nothing. */
  readonly registration: RegistrationGate
  readonly secrets: SynapseSecrets
  /** The operator's own settings, laid over these. */
  readonly settings: Readonly<Record<string, unknown>>
}

export interface SynapseSecrets {
  readonly registrationSharedSecret: Redacted.Redacted
  readonly macaroonSecretKey: Redacted.Redacted
  readonly formSecret: Redacted.Redacted
}

export const fileNames = {
  settings: "homeserver.yaml",
  registration: "crossfire-registration.yaml",
  logging: "logging.yaml",
  log: "homeserver.log",
  signingKey: "signing.key",
  database: "homeserver.db"
} as const

/** Encryption shuts crossfire out of a room, so it is off by default and takes more power than a room's members have. */
const encryption = {
  wellKnown: { "io.element.e2ee": { default: false, force_disable: true, secure_backup_required: false } },
  /** The homeserver replaces the whole list of events by an override's, so its own defaults are named again. */
  events: {
    "m.room.name": 50,
    "m.room.power_levels": 100,
    "m.room.history_visibility": 100,
    "m.room.canonical_alias": 50,
    "m.room.avatar": 50,
    "m.room.tombstone": 150,
    "m.room.server_acl": 100,
    "m.room.encryption": 150
  }
}

const levels = { events: encryption.events }

export const settings = (config: SynapseConfig): Readonly<Record<string, unknown>> => {
  const at = (name: string) => `${config.folder}/${name}`
  return {
    server_name: config.serverName,
    public_baseurl: config.publicBaseUrl ?? `http://127.0.0.1:${config.port}/`,
    pid_file: at("homeserver.pid"),
    listeners: [{
      port: config.port,
      bind_addresses: ["127.0.0.1"],
      type: "http",
      tls: false,
      // Behind a reverse proxy every person would else share one address, and its login limit.
      x_forwarded: config.publicBaseUrl !== null,
      resources: [{ names: ["client"], compress: false }]
    }],
    database: { name: "sqlite3", args: { database: at(fileNames.database) } },
    media_store_path: at("media"),
    signing_key_path: at(fileNames.signingKey),
    log_config: at(fileNames.logging),
    app_service_config_files: [at(fileNames.registration)],

    registration_shared_secret: Redacted.value(config.secrets.registrationSharedSecret),
    macaroon_secret_key: Redacted.value(config.secrets.macaroonSecretKey),
    form_secret: Redacted.value(config.secrets.formSecret),

    enable_registration: true,
    ...config.registration === "token"
      ? { registration_requires_token: true }
      : { enable_registration_without_verification: true },

    extra_well_known_client_content: encryption.wellKnown,
    default_power_level_content_override: {
      private_chat: levels,
      trusted_private_chat: levels,
      public_chat: { events: { ...encryption.events, "m.call.invite": 50 } }
    },

    // Tells any user of this server whether an account is deactivated: crossfire ends such a person's sessions by it.
    experimental_features: { msc3720_enabled: true },
    presence: { enabled: false },
    url_preview_enabled: false,
    // It talks with no other server and tells nobody about itself.
    federation_domain_whitelist: [],
    trusted_key_servers: [],
    suppress_key_server_warning: true,
    report_stats: false,
    ...config.settings
  }
}

/** Warnings and errors alone, kept for seven days: a line of the ordinary level is written for every request. */
export const logging = (folder: string): Readonly<Record<string, unknown>> => ({
  version: 1,
  formatters: { line: { format: "%(asctime)s %(levelname)s %(name)s: %(message)s" } },
  handlers: {
    file: {
      class: "logging.handlers.TimedRotatingFileHandler",
      formatter: "line",
      filename: `${folder}/${fileNames.log}`,
      when: "midnight",
      backupCount: 7,
      encoding: "utf8"
    }
  },
  root: { level: "WARNING", handlers: ["file"] },
  disable_existing_loggers: false
})
