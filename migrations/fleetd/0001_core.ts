// fleetd's private registry: root, fleet, agents, bindings, cursors, publications, items, checkpoints, outboxes, runs.
// Plain columns; times are milliseconds since 1970. The file holds credentials: 0600 in a 0700 folder.
import type { Knex } from "knex"

export const name = "0001_core"

const tables = [
  // root_id names this folder at crossfire; path is where its bindings were made.
  `CREATE TABLE root (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    root_id TEXT NOT NULL,
    path TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT`,

  `CREATE TABLE fleet (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    fleet_id TEXT NOT NULL,
    fleet_key TEXT NOT NULL,
    owner TEXT NOT NULL,
    server_url TEXT NOT NULL,
    token TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT`,

  // enabled is the desired session state; problem says why a context is held, until an activation is asked for again.
  `CREATE TABLE agent (
    agent_id TEXT PRIMARY KEY,
    instance_key TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    user_id TEXT NOT NULL,
    token TEXT NOT NULL,
    engine TEXT NOT NULL,
    model TEXT NOT NULL,
    effort TEXT,
    work_folder TEXT NOT NULL,
    history_mode TEXT NOT NULL CHECK (history_mode IN ('shared', 'per-room')),
    instructions TEXT,
    enabled INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
    problem TEXT,
    created_at INTEGER NOT NULL
  ) STRICT`,

  `CREATE TABLE binding (
    agent_id TEXT NOT NULL REFERENCES agent (agent_id),
    context TEXT NOT NULL,
    engine TEXT NOT NULL,
    native_id TEXT NOT NULL,
    path TEXT NOT NULL,
    root_path TEXT NOT NULL,
    position TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    archived_at INTEGER,
    PRIMARY KEY (agent_id, context, native_id)
  ) STRICT`,

  `CREATE UNIQUE INDEX binding_current ON binding (agent_id, context) WHERE archived_at IS NULL`,

  // seen_latest is crossfire's count of the room up to which everything was read; incarnation says in which life.
  `CREATE TABLE cursor (
    agent_id TEXT NOT NULL REFERENCES agent (agent_id),
    room_id TEXT NOT NULL,
    cursor TEXT NOT NULL,
    seen_latest INTEGER NOT NULL,
    PRIMARY KEY (agent_id, room_id)
  ) STRICT`,

  `CREATE TABLE delivered (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    agent_id TEXT NOT NULL REFERENCES agent (agent_id),
    room_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    delivery_id TEXT NOT NULL,
    UNIQUE (agent_id, event_id)
  ) STRICT`,

  `CREATE TABLE publication (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    delivery_id TEXT NOT NULL UNIQUE,
    agent_id TEXT NOT NULL REFERENCES agent (agent_id),
    context TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('batch', 'notice', 'reminder', 'continue')),
    state TEXT NOT NULL CHECK (state IN ('prepared', 'submitted', 'unknown', 'confirmed', 'discarded')),
    text TEXT NOT NULL,
    authority_revision INTEGER NOT NULL,
    position TEXT NOT NULL,
    run_id TEXT,
    boot_id TEXT,
    turn_id TEXT,
    failures INTEGER NOT NULL DEFAULT 0,
    inherits TEXT,
    told_by TEXT,
    entry TEXT,
    receipt_form TEXT,
    prepared_at INTEGER NOT NULL,
    submitted_at INTEGER,
    settled_at INTEGER
  ) STRICT`,

  `CREATE UNIQUE INDEX publication_open ON publication (agent_id, context) WHERE state IN ('prepared', 'submitted')`,

  `CREATE TABLE publication_move (
    delivery_id TEXT NOT NULL REFERENCES publication (delivery_id),
    room_id TEXT NOT NULL,
    base TEXT,
    next TEXT NOT NULL,
    seen_latest INTEGER,
    PRIMARY KEY (delivery_id, room_id)
  ) STRICT`,

  `CREATE TABLE publication_event (
    delivery_id TEXT NOT NULL REFERENCES publication (delivery_id),
    room_id TEXT NOT NULL,
    event_id TEXT NOT NULL,
    place INTEGER NOT NULL,
    PRIMARY KEY (delivery_id, event_id)
  ) STRICT`,

  `CREATE TABLE publication_item (
    delivery_id TEXT NOT NULL REFERENCES publication (delivery_id),
    operation_id TEXT NOT NULL,
    PRIMARY KEY (delivery_id, operation_id)
  ) STRICT`,

  // Input that is not Matrix: stored before its command is answered, keyed by the operation ID.
  `CREATE TABLE item (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    operation_id TEXT NOT NULL UNIQUE,
    agent_id TEXT NOT NULL REFERENCES agent (agent_id),
    context TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('direct', 'schedule')),
    text TEXT NOT NULL,
    stored_at INTEGER NOT NULL,
    delivered_by TEXT
  ) STRICT`,

  `CREATE TABLE artifact (
    path TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL,
    delivery_id TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    settled_at INTEGER
  ) STRICT`,

  // The context's last confirmed input and how its turn ended: what unfinished work is judged by.
  `CREATE TABLE checkpoint (
    agent_id TEXT NOT NULL REFERENCES agent (agent_id),
    context TEXT NOT NULL,
    native_id TEXT NOT NULL,
    delivery_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    turn_id TEXT,
    turn_end TEXT CHECK (turn_end IN ('completed', 'interrupted', 'failed')),
    continues INTEGER NOT NULL DEFAULT 0,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (agent_id, context)
  ) STRICT`,

  `CREATE TABLE acknowledgment (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    delivery_id TEXT NOT NULL UNIQUE,
    agent_id TEXT NOT NULL,
    payload TEXT NOT NULL,
    accepted_at INTEGER
  ) STRICT`,

  `CREATE INDEX acknowledgment_waiting ON acknowledgment (sequence) WHERE accepted_at IS NULL`,

  // payload is null once the message was answered: its text is kept no longer than it is needed.
  `CREATE TABLE outgoing (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    operation_id TEXT NOT NULL UNIQUE,
    agent_id TEXT NOT NULL,
    payload TEXT,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'accepted', 'refused')),
    event_id TEXT,
    refusal TEXT,
    stored_at INTEGER NOT NULL,
    CHECK ((state = 'waiting') = (payload IS NOT NULL))
  ) STRICT`,

  `CREATE INDEX outgoing_waiting ON outgoing (sequence) WHERE state = 'waiting'`,

  // Notices to the owner, each once; topic keeps one incident from being told again while it lasts.
  `CREATE TABLE notice (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    operation_id TEXT NOT NULL UNIQUE,
    topic TEXT NOT NULL,
    text TEXT NOT NULL,
    stored_at INTEGER NOT NULL,
    accepted_at INTEGER,
    closed_at INTEGER
  ) STRICT`,

  `CREATE UNIQUE INDEX notice_topic ON notice (topic) WHERE closed_at IS NULL`,

  `CREATE INDEX notice_waiting ON notice (sequence) WHERE accepted_at IS NULL`,

  `CREATE TABLE engine_run (
    run_id TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL,
    context TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    slept INTEGER NOT NULL DEFAULT 0 CHECK (slept IN (0, 1))
  ) STRICT`
]

export const up = async (knex: Knex): Promise<void> => {
  for (const table of tables) await knex.raw(table)
}
