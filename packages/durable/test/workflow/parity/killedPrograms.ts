/** The same programs in processes that are killed with SIGKILL at random moments and started again, on both engines. */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"
import { freshDatabase } from "../../../../store/test/support/Postgres.ts"
import { programOf } from "../../../../store/test/support/programs.ts"
import { Chance } from "../../simulation/Chance.ts"
import { readDeeds } from "./Deeds.ts"
import type { EngineName } from "./Engines.ts"
import { programs } from "./Programs.ts"

const chance = new Chance(Number(process.env["DETENT_CRASH_SEED"] ?? 1))

const start = (engine: EngineName, folder: string, url: string | undefined): ChildProcess =>
  fork(programOf(join(import.meta.dirname, "worker.ts")), [engine, folder, ...(url === undefined ? [] : [url])], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    execArgv: [],
  })

const hears = (worker: ChildProcess, wanted: string): Promise<void> =>
  new Promise((resolve, reject) => {
    worker.on("message", (message) => message === wanted && resolve())
    worker.on("exit", (code) => reject(new Error(`a worker ended with ${code} before it was ${wanted}`)))
  })

const killRepeatedly = async (engine: EngineName, folder: string, kills: number, url?: string) => {
  for (let kill = 0; kill < kills; kill++) {
    const worker = start(engine, folder, url)
    await hears(worker, "ready")
    await sleep(chance.between(1, 60))
    const gone = once(worker, "exit")
    worker.kill("SIGKILL")
    await gone
  }
  const last = start(engine, folder, url)
  const gone = once(last, "exit")
  await hears(last, "over")
  last.kill("SIGKILL")
  await gone
}

const inFolder = async (use: (folder: string) => Promise<void>) => {
  const folder = mkdtempSync(join(tmpdir(), "detent-crash-"))
  try {
    await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The results of the programs, and the calls they made. */
const expectSame = (folder: string) => {
  for (const { name, result, deeds } of programs) {
    const done = readDeeds(join(folder, "deeds"), name)
    const [told = "null"] = readDeeds(join(folder, "results"), name)
    expect([name, JSON.parse(told)]).toMatchObject([name, { _tag: "Success", value: result }])
    expect([name, [...new Set(done)].toSorted()]).toEqual([name, [...new Set(deeds)].toSorted()])
  }
}

interface Kills {
  readonly onSqlite: number
  readonly onPostgres: number
  readonly theirs: number
}

/** The tests, with the number of kills on each engine and store. */
export const killedPrograms = ({ onSqlite, onPostgres, theirs }: Kills) =>
  describe("programs whose process is killed with -9", () => {
    it(`${onSqlite} times on our engine, SQLite: the results are the same; no stored activity and no stored compensation is done again`, () =>
      inFolder(async (folder) => {
        await killRepeatedly("detent", folder, onSqlite)
        expectSame(folder)
      }))

    it(`${onPostgres} times on our engine, PostgreSQL: the results are the same; no stored activity and no stored compensation is done again`, () =>
      inFolder((folder) =>
        Effect.runPromise(
          Effect.scoped(
            Effect.flatMap(freshDatabase, (url) =>
              Effect.promise(async () => {
                await killRepeatedly("detent", folder, onPostgres, url)
                expectSame(folder)
              }),
            ),
          ),
        ),
      ))

    it(`${theirs} times on Effect's, SQLite: the results are the same; what is stored may be done again`, () =>
      inFolder(async (folder) => {
        await killRepeatedly("effect", folder, theirs)
        expectSame(folder)
      }))
  })
