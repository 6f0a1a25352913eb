/** Processes without a node id: one on the same host as a killed process does not wait for its lease. */
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { freshDatabase } from "../../../../store/test/support/Postgres.ts"
import { freshFile } from "../../../../store/test/support/Sqlite.ts"
import type { StoreAddress } from "../Protocol.ts"
import { ShiftProcess } from "./ShiftProcess.ts"

const instances = 20

/** Longer than the test may take: a process that waits for it fails the test. */
const leaseMillis = 600_000

const takeOver = async (store: StoreAddress, isRestart: boolean) => {
  const folder = mkdtempSync(join(tmpdir(), "detent-host-"))
  const closing = join(folder, "closing")
  const launch = (name: string, hasNodeId = false) =>
    new ShiftProcess({
      ...{ store, leaseMillis, instances, hasNodeId, skipMillis: 600_000, log: join(folder, name), closing },
      ...{ shortestMillis: 200, longestMillis: 400, version: 1 },
    })
  const first = launch("first")
  const second = isRestart ? undefined : launch("second")
  const all = [first, ...(second === undefined ? [] : [second])]
  try {
    await Promise.all(all.map((worker) => worker.ready()))
    await first.start()
    expect((await first.counts())["Finished"] ?? 0).toBe(0)
    await first.kill()
    writeFileSync(closing, "")
    const heir = second ?? launch("second")
    if (second === undefined) all.push(heir)
    await heir.ready()
    while ((await heir.counts())["Finished"] !== instances) await sleep(50)
    await heir.stop()
    expect(heir.errors).toBe("")
  } finally {
    for (const worker of all) if (worker.isAlive) await worker.kill()
  }
}

describe("138 the work of a killed process without a node id", () => {
  for (const isRestart of [true, false]) {
    const heir = isRestart ? "when it is started again" : "by another process"
    it.live(`is taken up at once ${heir} on the same host, on SQLite`, () =>
      Effect.flatMap(freshFile, (filename) => Effect.promise(() => takeOver({ _tag: "Sqlite", filename }, isRestart))),
    )
    it.live(`is taken up at once ${heir} on the same host, on PostgreSQL`, () =>
      Effect.flatMap(freshDatabase, (url) => Effect.promise(() => takeOver({ _tag: "Postgres", url }, isRestart))),
    )
  }
})
