/** Starts one PostgreSQL for all tests of a run; each test file makes itself a database in it. */
import type { TestProject } from "vitest/node"
import { startPostgres } from "./PostgresServer.ts"

declare module "vitest" {
  interface ProvidedContext {
    readonly postgresUrl: string
  }
}

export default async (project: TestProject) => {
  const server = await startPostgres()
  project.provide("postgresUrl", server.url)
  return server.stop
}
