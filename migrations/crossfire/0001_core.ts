// People, fleets, agents, enrollment, participation, wake policy, decisions, sweep positions, acknowledgments, sending.
// Plain columns: another implementation opens the same file. Times are milliseconds since 1970.
import type { Knex } from "knex"

export const name = "0001_core"

const tables = [
  `CREATE TABLE instance (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    instance_id TEXT NOT NULL,
    incarnation TEXT NOT NULL,
    server_name TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT`,

  `CREATE TABLE person (
    user_id TEXT PRIMARY KEY,
    role TEXT NOT NULL CHECK (role IN ('member', 'administrator')),
    created_at INTEGER NOT NULL
  ) STRICT`,

  `CREATE TABLE fleet (
    fleet_id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    fleet_key TEXT NOT NULL,
    token_hash TEXT NOT NULL UNIQUE,
    generation INTEGER NOT NULL DEFAULT 0,
    lease_root TEXT,
    lease_holder TEXT,
    created_at INTEGER NOT NULL,
    UNIQUE (owner, fleet_key)
  ) STRICT`,

  // Name and display name may change; agent_id and user_id never do. token_hash is null while no credential is valid.
  // registered_at is null until the homeserver has the user with its present display name.
  `CREATE TABLE agent (
    agent_id TEXT PRIMARY KEY,
    fleet_id TEXT NOT NULL REFERENCES fleet (fleet_id),
    instance_key TEXT NOT NULL,
    owner TEXT NOT NULL,
    name TEXT NOT NULL UNIQUE,
    name_skeleton TEXT NOT NULL UNIQUE,
    user_id TEXT NOT NULL UNIQUE,
    engine TEXT NOT NULL,
    token_hash TEXT UNIQUE,
    authority_revision INTEGER NOT NULL DEFAULT 1,
    may_invite_agents INTEGER NOT NULL DEFAULT 0 CHECK (may_invite_agents IN (0, 1)),
    enabled INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    retired_at INTEGER,
    registered_at INTEGER,
    created_at INTEGER NOT NULL,
    UNIQUE (fleet_id, instance_key)
  ) STRICT`,

  // One request. claim_hash is the SHA-256 of the claim secret; roster is the JSON that the owner reviews. A pending or
  // approved one is expired when expires_at has passed: no row says so. introduction_hash covers the token hashes taken.
  `CREATE TABLE enrollment (
    enrollment_id TEXT PRIMARY KEY,
    claim_hash TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    fleet_key TEXT NOT NULL,
    roster TEXT NOT NULL,
    code TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'introduced', 'rejected')),
    shown_room TEXT,
    fleet_id TEXT REFERENCES fleet (fleet_id),
    introduction_hash TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    decided_at INTEGER,
    decided_by TEXT
  ) STRICT`,

  `CREATE INDEX enrollment_open ON enrollment (owner) WHERE state IN ('pending', 'approved')`,

  // Three separate things: permission (permitted_by), membership, and wake policy (below).
  // boundary is set when permission and membership first both hold; wanted_boundary is taken before joining. latest is
  // the sequence of the newest decision whose event the agent may be given.
  `CREATE TABLE participation (
    agent_id TEXT NOT NULL REFERENCES agent (agent_id),
    room_id TEXT NOT NULL,
    invited_by TEXT,
    permitted_by TEXT,
    permitted_at INTEGER,
    membership TEXT NOT NULL CHECK (membership IN ('none', 'invited', 'joining', 'joined', 'left', 'banned')),
    wanted_boundary TEXT,
    boundary TEXT,
    latest INTEGER NOT NULL DEFAULT 0,
    problem TEXT,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (agent_id, room_id)
  ) STRICT`,

  `CREATE INDEX participation_room ON participation (room_id)`,

  // room_id '' is the agent's policy for all rooms; a room with own entries (or an own empty policy) has its own.
  `CREATE TABLE wake_policy (
    agent_id TEXT NOT NULL REFERENCES agent (agent_id),
    room_id TEXT NOT NULL DEFAULT '',
    revision INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (agent_id, room_id)
  ) STRICT`,

  `CREATE TABLE wake_selection (
    agent_id TEXT NOT NULL,
    room_id TEXT NOT NULL DEFAULT '',
    kind TEXT NOT NULL CHECK (kind IN ('person', 'person-and-agents', 'agent')),
    subject TEXT NOT NULL,
    PRIMARY KEY (agent_id, room_id, kind, subject),
    FOREIGN KEY (agent_id, room_id) REFERENCES wake_policy (agent_id, room_id) ON DELETE CASCADE
  ) STRICT`,

  // visibility is the room's m.room.history_visibility as last read. dirty counts announcements since the last sweep, so
  // that a sweep clears only what it began with.
  `CREATE TABLE room (
    room_id TEXT PRIMARY KEY,
    name TEXT,
    visibility TEXT NOT NULL DEFAULT 'shared',
    is_direct INTEGER NOT NULL DEFAULT 0 CHECK (is_direct IN (0, 1)),
    encrypted INTEGER NOT NULL DEFAULT 0 CHECK (encrypted IN (0, 1)),
    dirty INTEGER NOT NULL DEFAULT 1,
    updated_at INTEGER NOT NULL
  ) STRICT`,

  // How far a room was read and decided. reader '' stands for every joined agent without a row of its own; a new agent
  // reads for itself from its boundary until both stand at the same token, a departed one's row waits for its return.
  // window_to is the end of a window that is partly read; position is then a token inside of it.
  `CREATE TABLE sweep_position (
    room_id TEXT NOT NULL REFERENCES room (room_id),
    reader TEXT NOT NULL DEFAULT '',
    position TEXT NOT NULL,
    window_to TEXT,
    last_event TEXT,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (room_id, reader)
  ) STRICT`,

  // One row per decided event and agent: the first outcome stands. closed_as is set for wakes alone.
  `CREATE TABLE decision (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    agent_id TEXT NOT NULL REFERENCES agent (agent_id),
    room_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    sender TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('wake', 'mention', 'context', 'own', 'control')),
    policy_revision INTEGER NOT NULL,
    decided_at INTEGER NOT NULL,
    closed_as TEXT CHECK (closed_as IN ('delivered', 'read', 'skipped', 'redacted', 'withdrawn', 'absent')),
    closed_at INTEGER,
    UNIQUE (event_id, agent_id)
  ) STRICT`,

  `CREATE INDEX decision_open ON decision (agent_id, room_id) WHERE kind IN ('wake', 'mention') AND closed_as IS NULL`,
  `CREATE INDEX decision_age ON decision (decided_at)`,

  `CREATE TABLE redaction (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    agent_id TEXT NOT NULL REFERENCES agent (agent_id),
    room_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    UNIQUE (agent_id, event_id)
  ) STRICT`,

  // What fleetd acknowledged, kept so that a repeated one changes nothing; cursor_mirror never goes back.
  `CREATE TABLE acknowledgment (
    delivery_id TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL REFERENCES agent (agent_id),
    generation INTEGER NOT NULL,
    accepted_at INTEGER NOT NULL
  ) STRICT`,

  `CREATE TABLE cursor_mirror (
    agent_id TEXT NOT NULL REFERENCES agent (agent_id),
    room_id TEXT NOT NULL,
    cursor TEXT NOT NULL,
    delivery_id TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (agent_id, room_id)
  ) STRICT`,

  `CREATE TABLE level (
    agent_id TEXT PRIMARY KEY REFERENCES agent (agent_id),
    number INTEGER NOT NULL,
    redaction_number INTEGER NOT NULL DEFAULT 0
  ) STRICT`,

  // Everything that crossfire sends: for agents (operation_id given by fleetd) and as the bot. The transaction ID is
  // random and stands here before the first try.
  `CREATE TABLE outbound (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    operation_id TEXT NOT NULL,
    sender TEXT NOT NULL,
    room_id TEXT,
    recipient TEXT,
    transaction_id TEXT NOT NULL UNIQUE,
    event_type TEXT NOT NULL,
    content TEXT NOT NULL,
    attachment BLOB,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'sent', 'refused')),
    event_id TEXT,
    refusal TEXT,
    tries INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    settled_at INTEGER,
    UNIQUE (sender, operation_id),
    CHECK ((room_id IS NULL) <> (recipient IS NULL))
  ) STRICT`,

  `CREATE INDEX outbound_waiting ON outbound (sequence) WHERE state = 'waiting'`,
  `CREATE INDEX outbound_age ON outbound (settled_at)`,

  // The bot's direct rooms with people: our own record, never m.direct. boundary was taken before joining.
  `CREATE TABLE bot_room (
    room_id TEXT PRIMARY KEY,
    user_id TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('joining', 'joined')),
    boundary TEXT NOT NULL,
    updated_at INTEGER NOT NULL
  ) STRICT`,

  // A direct room that the bot is making: recorded before the request, so that a crash makes no second one.
  `CREATE TABLE bot_contact (
    user_id TEXT PRIMARY KEY,
    boundary TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT`,

  // Messages to the bot that were answered: one answer each, whatever is pushed or swept again.
  `CREATE TABLE bot_message (
    event_id TEXT PRIMARY KEY,
    room_id TEXT NOT NULL,
    handled_at INTEGER NOT NULL
  ) STRICT`
]

export const up = async (knex: Knex): Promise<void> => {
  for (const table of tables) await knex.raw(table)
}
