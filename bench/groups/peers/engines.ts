/** The engines of the group: where their code is, and what a reader has to know to compare their figures. */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"

export interface Engine {
  readonly title: string
  /** A file of contestants/. */
  readonly file: string
  /** The package whose version is measured; none for ours. */
  readonly library?: string
  /** Whether its rows are in the PostgreSQL of the measurement. */
  readonly isOnPostgres: boolean
  readonly durability: string
  readonly settings: string
}

const postgres = "PostgreSQL, fsync and synchronous_commit on"

export const detent: Engine = {
  title: "detent",
  file: "detent.ts",
  isOnPostgres: true,
  durability: `${postgres}; the commits of several workflows share a transaction`,
  settings: "defaults: 10 connections",
}

export const dbos: Engine = {
  title: "DBOS",
  file: "dbos.mts",
  library: "@dbos-inc/dbos-sdk",
  isOnPostgres: true,
  durability: `${postgres}; a transaction for each step`,
  settings: "50 connections, one for each caller",
}

export const effect: Engine = {
  title: "Effect",
  file: "effect.ts",
  library: "effect",
  isOnPostgres: true,
  durability: `${postgres}; every activity is a stored message with a stored reply`,
  settings:
    "a cluster of one, 32 connections, messages to other runners not simulated; messages of sleepers are polled every 10 s, its default",
}

export const restate: Engine = {
  title: "Restate",
  file: "restate.mts",
  library: "@restatedev/restate-server",
  isOnPostgres: false,
  durability: "its own log and RocksDB on the same disk; fsync of the log on, its default",
  settings: "one node with its defaults, 24 partitions; workflows are served by this process over HTTP/2, callers use HTTP",
}

export const vercel: Engine = {
  title: "Vercel Workflow",
  file: "vercel.mts",
  library: "@workflow/world-postgres",
  isOnPostgres: true,
  durability: `${postgres}; every step is a job of graphile-worker and several events`,
  settings:
    "50 workers and 52 connections, as it recommends; steps are called over HTTP in the same process; results are polled every second",
}

export const graphile: Engine = {
  title: "graphile-worker",
  file: "graphile.mts",
  library: "graphile-worker",
  isOnPostgres: true,
  durability: `${postgres}; completions are batched`,
  settings: "a local queue of 500 jobs, 24 at once",
}

export const pgBoss: Engine = {
  title: "pg-boss",
  file: "pgBoss.mts",
  library: "pg-boss",
  isOnPostgres: true,
  durability: postgres,
  settings: "batches of 500, polled every 500 ms, its minimum",
}

/** The title with the version that is installed. */
export const named = ({ title, library }: Engine): string => {
  if (library === undefined) return title
  const folders = ["", "../..", "../../.."].map((folder) => join(import.meta.dirname, folder, "node_modules", library, "package.json"))
  const file = folders.find((one) => existsSync(one))
  const { version = "" }: { readonly version?: string } = file === undefined ? {} : JSON.parse(readFileSync(file, "utf8"))
  return `${title} ${version}`.trim()
}
