/**
 * The columns that a commit writes: under which name, as which type, and with which value. All statements of a commit are made from these
 * tables, on SQLite and on PostgreSQL. A new field of an event, a command or an instance is its type in contract/Commit.ts, its line here
 * and its column in the migrations.
 */
import type { CommandRecord, Commit, EventRecord, SnapshotRecord, TimerRecord } from "../contract/Commit.ts"

export type ColumnType = "integer" | "bigint" | "boolean" | "text" | "json"

export type ColumnValue = string | number | boolean | undefined | null | ReadonlyArray<unknown>

export interface Column<Source> {
  readonly type: ColumnType
  readonly value: (source: Source, commit: Commit) => ColumnValue
}

export type Columns<Source> = Readonly<Record<string, Column<Source>>>

/** The columns of an instance that every commit replaces. */
export const instanceColumns = {
  sequence: { type: "integer", value: ({ sequence }) => sequence },
  updated_at: { type: "bigint", value: ({ at }) => at },
  tag: { type: "text", value: ({ summary }) => summary.tag },
  status: { type: "text", value: ({ summary }) => summary.status },
  reason: { type: "text", value: ({ summary }) => summary.reason },
  version: { type: "integer", value: ({ summary }) => summary.version },
  owner: { type: "text", value: ({ summary }) => summary.owner },
  needs_owner: { type: "boolean", value: ({ summary }) => summary.needsOwner },
  owes: { type: "boolean", value: ({ summary }) => summary.owes },
} satisfies Columns<Commit>

/** Without the ids of senders: each database finds them in its own way. */
export const eventColumns = {
  sequence: { type: "integer", value: ({ sequence }) => sequence },
  at: { type: "bigint", value: ({ at }) => at },
  tag: { type: "text", value: ({ tag }) => tag },
  body: { type: "text", value: ({ body }) => body },
} satisfies Columns<EventRecord>

export const snapshotColumns = {
  sequence: { type: "integer", value: ({ sequence }) => sequence },
  at: { type: "bigint", value: ({ at }) => at },
  version: { type: "integer", value: ({ version }) => version },
  body: { type: "text", value: ({ body }) => body },
} satisfies Columns<SnapshotRecord>

export const timerColumns = {
  name: { type: "text", value: ({ name }) => name },
  entry: { type: "integer", value: ({ entry }) => entry },
  due: { type: "bigint", value: ({ due }) => Math.ceil(due) },
} satisfies Columns<TimerRecord>

export const commandColumns = {
  key: { type: "text", value: ({ key }) => key },
  slot: { type: "text", value: ({ slot }) => slot },
  parameters: { type: "text", value: ({ parameters }) => parameters },
  sequence: { type: "integer", value: ({ sequence }) => sequence },
  queue: { type: "text", value: ({ queue }, { machine }) => queue ?? machine },
  priority: { type: "integer", value: ({ priority = 0 }) => priority },
  ordered: { type: "boolean", value: ({ ordered = false }) => ordered },
} satisfies Columns<CommandRecord>

/** The names of columns, separated by commas. */
export const namesOf = (columns: Columns<never>, prefix = ""): string =>
  Object.keys(columns)
    .map((name) => `${prefix}${name}`)
    .join(", ")

/** Assigns to each of these columns the value of the row that a statement wanted to insert. */
export const replacing = (columns: Columns<never>): string =>
  Object.keys(columns)
    .map((name) => `${name} = excluded.${name}`)
    .join(", ")

/** What a timer that is set anew starts with. */
export const unclaimedTimer = "claimed_by = null, claimed_until = 0, attempts = 0, dead = false, problem = null"
