/** The report on stored commands. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { commandReport } from "../../src/command/StoredCommandReport.ts"
import { Journal } from "../../src/store/Journal.ts"
import { commit, freshKey } from "../samples.ts"
import { claim, command, completed, enqueue, finish, freshName, type Topic } from "./CommandKit.ts"

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
}
