/** Commands that change an instance and end do not run the work of its state: a worker does. */
import { existsSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { detentProcess, start, temporaryFolder } from "../support/Detent.ts"
import { project } from "../support/Project.ts"

const config = `
import { appendFileSync } from "node:fs"
import { Event, Machine, State } from "@detent/machine"
import { defineConfig } from "@detent/workspace/Config"
import * as Effect from "effect/Effect"

const note = (line: string) => Effect.sync(() => appendFileSync(process.env["NOTES"] ?? "", line + " " + process.pid + "\\n"))
const S = State({ Idle: {}, Busy: {} })
const E = Event({ Begin: {}, Rest: {} })

const Robot = Machine.make({ name: "robot", state: S, event: E, initial: S.Idle() })
  .on(S.Idle, E.Begin, S.Busy)
  .on(S.Busy, E.Rest, S.Idle)
  .spawn(S.Busy, ({ self }) => Effect.acquireUseRelease(note("begins " + self.id), () => Effect.never, () => note("ends " + self.id)))

export default defineConfig({ machines: [Robot] })
`

const scenario = async (env: Readonly<Record<string, string>>) => {
  const cwd = join(await temporaryFolder(), "robots")
  await project(cwd, config)
  const file = join(cwd, "notes.txt")
  const settings = { cwd, env: { ...env, NOTES: file } }
  const detent = async (...args: ReadonlyArray<string>) => {
    const ended = await detentProcess(args, settings)
    assert.strictEqual(ended.code, 0, ended.err)
    return ended
  }
  const notes = async () => (existsSync(file) ? (await readFile(file, "utf8")).trim().split("\n").sort() : [])
  const until = async (expected: ReadonlyArray<string>) => {
    for (let turn = 0; turn < 150 && (await notes()).length < expected.length; turn++) await sleep(100)
    assert.deepStrictEqual(await notes(), [...expected].sort())
  }

  await detent("instance", "start", "robot", "r-1")
  await detent("instance", "start", "robot", "r-3")
  const begun = await detent("instance", "send", "r-1", "Begin")
  assert.include(begun.err, "the work of Busy runs in a worker or server; unless one runs, start it: detent worker")
  await detent("instance", "start", "robot", "r-2", "--state", "Busy")
  await detent("instance", "bulk", "robot", "Begin", "--state", "Idle", "--yes")
  assert.deepStrictEqual(await notes(), [])

  const worker = start(["worker"], settings)
  try {
    const { pid } = worker.process
    const begins = ["r-1", "r-2", "r-3"].map((id) => `begins ${id} ${pid}`)
    await until(begins)
    const rested = await detent("instance", "send", "r-2", "Rest")
    assert.notInclude(rested.err, "detent worker")
    await until([...begins, `ends r-2 ${pid}`])
    await detent("instance", "send", "r-2", "Begin")
    await until([...begins, `ends r-2 ${pid}`, `begins r-2 ${pid}`])
  } finally {
    await worker.stop("SIGTERM")
  }
}

describe("the work of a state, and commands that end", () => {
  it("runs in a worker on SQLite", () => scenario({}))

  it.live("runs in a worker on PostgreSQL", () =>
    Effect.flatMap(freshDatabase, (database) => Effect.promise(() => scenario({ DETENT_DATABASE_URL: database }))),
  )
})
