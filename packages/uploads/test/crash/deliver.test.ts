/** Processes are killed with SIGKILL in their deliveries: every item is delivered under one key, and what is repeated has the same key and items. */
import { fork } from "node:child_process"
import { once } from "node:events"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { until } from "../../../store/test/support/patience.ts"
import { programOf } from "../../../store/test/support/programs.ts"
import { databases } from "../support/Databases.ts"
import { makeDesk } from "../support/Desk.ts"
import type { Delivering } from "./deliverer.ts"

interface Sent {
  readonly key: string
  readonly ids: ReadonlyArray<number>
}

const sentIn = (log: string): ReadonlyArray<Sent> => {
  if (!existsSync(log)) return []
  const lines = readFileSync(log, "utf8").trim().split("\n")
  return lines.map((line) => JSON.parse(line) as Sent)
}

/** Runs a process until it has ended or the condition holds. */
const deliver = async (given: Delivering, holds: () => boolean) => {
  const child = fork(programOf(join(import.meta.dirname, "deliverer.ts")), { stdio: ["ignore", "ignore", "inherit", "ipc"] })
  const gone = once(child, "exit")
  try {
    await once(child, "message")
    child.send(given)
    await until("the process has ended or delivered all", () => child.exitCode !== null || child.signalCode !== null || holds(), 60_000)
  } finally {
    child.kill("SIGKILL")
    await gone
  }
}

const count = 1000
const ids = Array.from({ length: count }, (_, index) => index)

describe.each(databases)("$name", (database) => {
  it.live("a killed process repeats the delivery under way with the same key, and all items arrive", () =>
    Effect.gen(function* () {
      const { address, folder, file } = yield* makeDesk(database)
      const given = { address, path: file("rows.csv", `id\n${ids.join("\n")}\n`), log: join(folder, "sent.log") }
      const byKey = () => Map.groupBy(sentIn(given.log), ({ key }) => key)
      const isAll = () => byKey().size === count / 100
      yield* Effect.promise(async () => {
        for (const dies of [2, 3]) await deliver({ ...given, dies }, () => false)
        expect(byKey().size).toBeLessThan(count / 100)
        await deliver({ ...given, dies: undefined }, isAll)
      })
      const delivered = [...byKey().values()]
      for (const attempts of delivered) expect(new Set(attempts.map((one) => one.ids.join())).size).toBe(1)
      expect(delivered.flatMap(([first]) => first?.ids ?? []).toSorted((left, right) => left - right)).toEqual(ids)
      // Each kill repeats the delivery that it cut off, and no other.
      expect(sentIn(given.log)).toHaveLength(count / 100 + 2)
    }),
  )
})
