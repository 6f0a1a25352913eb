/** A PostgreSQL that can be stopped and started again on the same data. */
import { launchPostgres } from "./PostgresServer.ts"

export interface RestartableServer {
  readonly url: string
  readonly stop: () => Promise<void>
  readonly start: () => Promise<void>
  readonly remove: () => Promise<void>
}

export const startRestartable = async (): Promise<RestartableServer> => {
  const { url, server, remove } = await launchPostgres({ persistent: true })
  return { url, stop: () => server.stop(), start: () => server.start(), remove }
}
