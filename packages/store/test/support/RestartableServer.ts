/** A PostgreSQL that can be stopped and started again on the same data. */
import { appendFile } from "node:fs/promises"
import { join } from "node:path"
import { launchPostgres } from "./PostgresServer.ts"

export interface RestartableServer {
  readonly url: string
  readonly stop: () => Promise<void>
  readonly start: () => Promise<void>
  readonly remove: () => Promise<void>
}

/** Where clients in other network namespaces reach the server, and their addresses. */
export interface ServerNetwork {
  readonly address: string
  readonly range: string
}

export const startRestartable = async (network?: ServerNetwork): Promise<RestartableServer> => {
  const flags = network === undefined ? [] : ["-c", `listen_addresses=127.0.0.1,${network.address}`]
  const { url, server, data, remove } = await launchPostgres({ persistent: true, flags })
  const restartable = { stop: () => server.stop(), start: () => server.start(), remove }
  if (network === undefined) return { url, ...restartable }
  await appendFile(join(data, "pg_hba.conf"), `host all all ${network.range} password\n`)
  await server.stop()
  await server.start()
  return { url: url.replace("127.0.0.1", network.address), ...restartable }
}
