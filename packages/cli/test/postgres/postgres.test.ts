import { join } from "node:path"
import { InstanceApi } from "@detent/api"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { decoded, detent, temporaryFolder } from "../support/Detent.ts"
import { bothSystems, copyFewDocuments, lampConfig, project } from "../support/Project.ts"

let folder = ""

beforeAll(async () => {
  folder = await temporaryFolder()
})

describe("the command line on PostgreSQL", () => {
  it.live("works from several folders on one database, by option and by environment", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const cwd = join(folder, "lamps")
      yield* Effect.promise(async () => {
        await project(cwd, lampConfig("Schema.Int", bothSystems))
        await copyFewDocuments(join(cwd, "corpus"))
        const here = ["--database", url]
        const begun = await detent(["instance", "start", "lamp", "hall", "--with", '{"pin":"1"}', ...here], { cwd })
        assert.strictEqual(begun.code, 0, begun.err)
        const env = { DETENT_DATABASE_URL: url }
        const sent = await detent(["instance", "send", "hall", "Switch", "--with", '{"level":2}', "--data", "other"], { cwd, env })
        assert.strictEqual(sent.code, 0, sent.err)
        // One of what it executes fails for good.
        assert.strictEqual((await detent(["worker", "--until-idle", ...here], { cwd })).code, 1)
        const failed = await detent(["command", "list", "--status", "failed", "--json"], { cwd, env })
        assert.include(failed.out, "the post office is closed")
        const run = await detent(["batch", "run", "corpus", ...here], { cwd })
        assert.strictEqual(run.code, 0, run.err)
        assert.notInclude(run.err, url)
        const listed = await detent(["instance", "list", "--machine", "batch", "--json"], { cwd, env })
        assert.strictEqual(decoded(InstanceApi.InstanceListing, listed.out)[0]?.state, "Completed")
      })
    }),
  )
})
