/** The report of stored commands, and which machines have commands that no process executes. */

import { Commands, Journal } from "@detent/store"
import { claim, claimNames, command, completed, enqueue, eventually, finish, freshName, type Topic } from "@detent/store/testing/CommandKit"
import { commit, freshKey } from "@detent/store/testing/samples"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { commandReport } from "../../src/outbox/StoredCommandReport.ts"

export const reporting: Topic = (it) => {
  it.effect("133 the command report: counts by status, flow by kind, and the list by instance", () =>
    Effect.gen(function* () {
      const journal = yield* Journal
      const queue = yield* freshName
      const instance = yield* freshKey
      yield* journal.commit([commit(instance, -1)])
      yield* enqueue(
        command(queue, "a", { slot: "charge", instance }),
        command(queue, "b", { slot: "mail", instance }),
        command(queue, "c", { slot: "mail" }),
        command(queue, "d", { slot: "mail" }),
      )
      const [a, b, c] = yield* claim(queue, { limit: 3 })
      if (a === undefined || b === undefined || c === undefined) return assert.fail("three were to be claimed")
      yield* finish(completed, [a])
      yield* finish({ _tag: "Failed", problem: "no such | address" }, [b])
      yield* finish({ _tag: "Skipped", reason: "sent before" }, [c])
      const report = yield* commandReport({ queue, title: "Orders" })
      const lines = report.split("\n")
      assert.strictEqual(lines[0], "# Orders")
      for (const line of ["| ⏳ Pending | 1 |", "| ✅ Completed | 1 |", "| ❌ Failed | 1 |", "| ⏭️ Skipped | 1 |", "| **Total** | **4** |"])
        assert.include(lines, line)
      assert.match(report, new RegExp(`### ${instance.machine} instance.*\n`))
      assert.include(report, `### ${queue}`)
      assert.match(report, new RegExp(`\\| ${queue}.*b \\| mail \\| ❌ Failed \\| 1 \\| no such .*address \\|`))
      assert.match(report, /c1\("charge"\)[\s\S]*c1 -->\|"1"\| completed/)
      assert.include(yield* commandReport({ title: "All" }), "# All")
      assert.include(yield* commandReport({ queue: "unknown" }), "No commands.")
      assert.notInclude(yield* commandReport({ queue, limit: 1 }), `${queue}-b`)
    }),
  )

  it.effect("91 tells which machines have commands that could have been executed for long, and are not", () =>
    Effect.gen(function* () {
      const [journal, commands, queue] = [yield* Journal, yield* Commands, yield* freshName]
      const [waiting, delayed, executed, late] = [yield* freshKey, yield* freshKey, yield* freshKey, yield* freshKey]
      yield* journal.commit([waiting, delayed, executed, late].map((key) => commit(key, -1)))
      const hour = 3_600_000
      const now = yield* journal.clock
      yield* enqueue(
        command(queue, "a", { instance: executed, priority: 1, runAt: now - 2 * hour }),
        command(queue, "b", { instance: executed, runAt: now - 2 * hour }),
        command(queue, "c", { instance: waiting, runAt: now - 2 * hour }),
        command(queue, "d", { instance: late, runAt: now - hour / 2 }),
        command(queue, "e", { instance: late, runAt: now + hour }),
        command(queue, "f", { runAt: now - 2 * hour }),
        command(`${queue}-other`, "g", { instance: delayed, delayMillis: 1 }),
      )
      assert.deepStrictEqual(yield* claimNames(queue, { limit: 1 }), ["a"])
      const found = (yield* eventually(commands.unserved(0), (machines) => machines.includes(delayed.machine))).filter((machine) =>
        [waiting, delayed, executed, late].some((key) => key.machine === machine),
      )
      assert.sameMembers([...found], [waiting.machine, delayed.machine, late.machine])
      const longer = yield* commands.unserved(hour)
      assert.deepStrictEqual(
        [waiting, delayed, executed, late].map(({ machine }) => longer.filter((one) => one === machine).length),
        [1, 0, 0, 0],
      )
    }),
  )
}
