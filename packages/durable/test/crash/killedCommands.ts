/** Processes that execute commands, killed with SIGKILL at any point, and frozen. `DETENT_CRASH_SEED` makes other choices. */
import { writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import * as PostgresStore from "@detent/store/PostgresStore"
import * as SqliteStore from "@detent/store/SqliteStore"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { freshFile } from "../../../store/test/support/Sqlite.ts"
import * as DeadLetters from "../../src/DeadLetters.ts"
import { Chance } from "../simulation/Chance.ts"
import { repairFile } from "./CommandMachine.ts"
import { CommandProcess } from "./CommandProcess.ts"
import { allOver, type CommandProof, proveCommands } from "./CommandProof.ts"
import type { StoreAddress } from "./Protocol.ts"

const seed = Number(process.env["DETENT_CRASH_SEED"] ?? 1)

const work = { slowness: 60, claimMillis: 500, clients: 3 }

/** The number of workers, one of which is killed at a time. */
const killRepeatedly = async (store: StoreAddress, log: string, kills: number, atOnce: number): Promise<CommandProof> => {
  const chance = new Chance(seed)
  const all: Array<CommandProcess> = []
  const start = () => {
    const process = new CommandProcess()
    all.push(process)
    return process
  }
  const open = (process: CommandProcess, node: string) => process.open({ store, log, node, ...work })
  /** One that only executes the commands of the others, and quickly: there may be hundreds. */
  const finish = (process: CommandProcess, node: string) => process.open({ store, log, node, ...work, slowness: 5, clients: 0 })
  const running: Array<CommandProcess> = []
  // The next process loads its modules in advance, which is most of a restart.
  let next = start()
  for (let kill = 0; kill < kills; kill++) {
    running.push(await open(next, `p${kill}`))
    next = start()
    await sleep(chance.between(20, 250))
    await hasWorked(running)
    if (running.length >= atOnce) await running.shift()?.kill()
  }
  for (const one of running) await one.kill()
  const patient = await finish(next, "patient")
  await allOver(store)
  await patient.stop()
  // Dead letters are retried, and the workers that execute them are killed too.
  writeFileSync(repairFile(log), "")
  await retryDead(store)
  for (let kill = 0; kill < 2; kill++) {
    const one = await start().open({ store, log, node: `again${kill}`, ...work, clients: 0 })
    await sleep(chance.between(5, 60))
    await one.kill()
  }
  const last = await finish(start(), "last")
  await allOver(store)
  await last.stop()
  return proveCommands(
    store,
    log,
    all.flatMap(({ accepted }) => accepted),
    all.flatMap(({ enqueued }) => enqueued),
  )
}

/** How many requests of a process the store has taken at least before it is killed, however slow the machine is. */
const leastRequests = 24

const hasWorked = async (running: ReadonlyArray<CommandProcess>) => {
  const newest = running.at(-1)
  while (newest !== undefined && newest.accepted.length + newest.enqueued.length < leastRequests) await sleep(5)
}

const retryDead = (store: StoreAddress): Promise<number> => {
  const layer = store._tag === "Sqlite" ? SqliteStore.layer(store) : PostgresStore.layer({ url: store.url, maxConnections: 1 })
  return Effect.runPromise(Effect.provide(DeadLetters.retryAll({ slot: "work" }), layer))
}

const check = ({ problems, statuses, executions, repeated, retried }: CommandProof, kills: number) => {
  expect(problems).toEqual([])
  expect(retried).toBeGreaterThan(0)
  // A run in which nothing happened proves nothing.
  expect(executions).toBeGreaterThan(kills * 5)
  expect(statuses["completed"]).toBeGreaterThan(kills)
  expect(repeated).toBeGreaterThan(0)
}

/** The tests, with the number of kills on each store. */
export const killedWhileExecuting = ({ sqlite, postgres }: { readonly sqlite: number; readonly postgres: number }) =>
  describe("processes that execute commands, killed with -9", () => {
    it.live(`${sqlite} times on SQLite: every command is stored once and ends, none runs after its end, results arrive once`, () =>
      Effect.gen(function* () {
        const filename = yield* freshFile
        const proof = yield* Effect.promise(() => killRepeatedly({ _tag: "Sqlite", filename }, join(dirname(filename), "log"), sqlite, 1))
        check(proof, sqlite)
      }),
    )

    it.live(
      `${postgres} times on PostgreSQL, three at once: the same`,
      () =>
        Effect.gen(function* () {
          const url = yield* freshDatabase
          const folder = dirname(yield* freshFile)
          const proof = yield* Effect.promise(() => killRepeatedly({ _tag: "Postgres", url }, join(folder, "log"), postgres, 3))
          check(proof, postgres)
        }),
      // Three processes share the machine, each of which loads its modules after every kill.
      120_000 + postgres * 8000,
    )
  })

/** The test, with how often the process is frozen: each time, its claims end while it holds some. */
export const frozenWhileExecuting = (freezes: number) =>
  describe("a process that sleeps through its claims", () => {
    it.live("is refused when it wakes: the work of others stands, and results arrive once", () =>
      Effect.gen(function* () {
        const url = yield* freshDatabase
        const log = join(dirname(yield* freshFile), "log")
        const store: StoreAddress = { _tag: "Postgres", url }
        const opening = { store, log, slowness: 250, claimMillis: 400 }
        const { proof, lost } = yield* Effect.promise(async () => {
          const sleeper = new CommandProcess()
          const other = new CommandProcess()
          await sleeper.open({ ...opening, node: "sleeper", clients: 4 })
          await other.open({ ...opening, node: "other", clients: 0 })
          for (let round = 0; round < freezes; round++) {
            await sleep(300)
            sleeper.freeze()
            // Its claims end, and the other process executes its commands.
            await sleep(900)
            sleeper.thaw()
          }
          sleeper.quiet()
          await sleep(200)
          await allOver(store)
          const lost = await sleeper.lost()
          await sleeper.stop()
          await other.stop()
          return { lost, proof: await proveCommands(store, log, sleeper.accepted, sleeper.enqueued) }
        })
        expect(proof.problems).toEqual([])
        expect(lost).toBeGreaterThan(0)
        expect(proof.repeated).toBeGreaterThan(0)
      }),
    )
  })
