/**
 * The same programs in processes that are killed with SIGKILL at random moments and started again, on both engines.
 * `DETENT_CRASH_KILLS=200 npm test -- parity/crash` kills as often.
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it } from "vitest"
import { Chance } from "../../simulation/Chance.ts"
import { readDeeds } from "./Deeds.ts"
import type { EngineName } from "./Engines.ts"
import { programs } from "./Programs.ts"

const asked = process.env["DETENT_CRASH_KILLS"]
const chance = new Chance(Number(process.env["DETENT_CRASH_SEED"] ?? 1))

const start = (engine: EngineName, folder: string): ChildProcess =>
  fork(join(import.meta.dirname, "worker.ts"), [engine, folder], { stdio: ["ignore", "ignore", "inherit", "ipc"], execArgv: [] })

const hears = (worker: ChildProcess, wanted: string): Promise<void> =>
  new Promise((resolve, reject) => {
    worker.on("message", (message) => message === wanted && resolve())
    worker.on("exit", (code) => reject(new Error(`a worker ended with ${code} before it was ${wanted}`)))
  })

const killRepeatedly = async (engine: EngineName, folder: string, kills: number) => {
  for (let kill = 0; kill < kills; kill++) {
    const worker = start(engine, folder)
    await hears(worker, "ready")
    await sleep(chance.between(1, 60))
    const gone = once(worker, "exit")
    worker.kill("SIGKILL")
    await gone
  }
  const last = start(engine, folder)
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

describe("programs whose process is killed with -9", () => {
  const ours = Number(asked ?? 12)
  it(
    `${ours} times on our engine: the results are the same; no stored activity and no stored compensation is done again`,
    () =>
      inFolder(async (folder) => {
        await killRepeatedly("detent", folder, ours)
        for (const { name, result, deeds } of programs) {
          const done = readDeeds(join(folder, "deeds"), name)
          expect([name, JSON.parse(readDeeds(join(folder, "results"), name)[0] ?? "null")]).toMatchObject([name, { _tag: "Success", value: result }])
          expect([name, done.filter((deed) => deed.startsWith("WRONG"))]).toEqual([name, []])
          expect([name, [...new Set(done)].toSorted()]).toEqual([name, [...new Set(deeds)].toSorted()])
        }
      }),
    60_000 + ours * 5000,
  )

  const theirs = Number(asked ?? 4)
  it(
    `${theirs} times on Effect's: the results are the same; activities and compensations may be repeated`,
    () =>
      inFolder(async (folder) => {
        await killRepeatedly("effect", folder, theirs)
        for (const { name, result, deeds } of programs) {
          expect([name, JSON.parse(readDeeds(join(folder, "results"), name)[0] ?? "null")]).toMatchObject([name, { _tag: "Success", value: result }])
          expect([name, [...new Set(readDeeds(join(folder, "deeds"), name))].toSorted()]).toEqual([name, [...new Set(deeds)].toSorted()])
        }
      }),
    120_000 + theirs * 10_000,
  )
})
