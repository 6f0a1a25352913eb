/** The driver of the package, and Effect's own where a version for this Effect is installed, against one PostgreSQL. */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import type * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { assert, describe, it } from "vitest"
import { type DriverOptions, ownDriver } from "./Driver.ts"
import { postgresConformance } from "./postgresConformance.ts"

postgresConformance(ownDriver)

/** It is no dependency: `npm install --no-save @effect/sql-pg` installs it for these tests. */
const name = "@effect/sql-pg"

const version = ((): string | undefined => {
  try {
    const require = createRequire(import.meta.url)
    return JSON.parse(readFileSync(require.resolve(`${name}/package.json`), "utf8")).version
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND") return undefined
    throw error
  }
})()

interface Official {
  readonly layer: (config: object) => Layer.Layer<SqlClient, SqlError>
}

/** Earlier ones are of earlier Effects. */
const released = /^4\.\d+\.\d+$/

if (version !== undefined && released.test(version)) {
  const { layer }: Official = await import(/* @vite-ignore */ `${name}/PgClient`)
  postgresConformance({
    name: `${name} ${version}`,
    layer: ({ url, preparedStatements, ...options }: DriverOptions) =>
      layer({
        ...options,
        url: Redacted.make(url),
        ...(preparedStatements === undefined ? {} : { preparedStatementCacheSize: preparedStatements }),
      }),
  })
} else
  describe(name, () => {
    it(`is not tested, because ${version === undefined ? "it is not installed" : `version ${version} is not of this Effect`}`, () => {
      assert.notMatch(version ?? "", released)
    })
  })
