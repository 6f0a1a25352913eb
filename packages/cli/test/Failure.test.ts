import { PersistenceFailed } from "@detent/machine"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import { failureOf, WrongUsage } from "../src/Failure.ts"

describe("the error of a command", () => {
  it("names the causes of a failed layer or statement, without the password of an address", () => {
    const refused = new Error("connect ECONNREFUSED 10.0.0.7:5432, as postgres://detent:sesame@10.0.0.7/detent")
    const cause = new Error("PgConnection: Query failed", { cause: refused })
    const { message, tag } = failureOf(Cause.die(new Error("the workspace was not opened", { cause })))
    const causes = "PgConnection: Query failed: connect ECONNREFUSED 10.0.0.7:5432, as postgres://detent:•••@10.0.0.7/detent"
    assert.deepStrictEqual([tag, message], ["Defect", `the workspace was not opened: ${causes}`])
    const failed = failureOf(Cause.fail(new PersistenceFailed({ machine: "order", operation: "commit", cause })))
    assert.deepStrictEqual([failed.tag, failed.message], ["PersistenceFailed", `order: commit failed: ${causes}`])
  })

  it("is the message of the error itself where it has no cause", () => {
    const error = new WrongUsage({ problem: "there is no port 70000", nextStep: "use a port up to 65535" })
    assert.strictEqual(failureOf(Cause.fail(error)).message, "there is no port 70000; use a port up to 65535")
  })
})
