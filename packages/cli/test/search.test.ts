/** Instances are found by indexed fields and by labels from the command line. */
import { join } from "node:path"
import { InstanceApi } from "@detent/api"
import { assert, beforeAll, describe, it } from "vitest"
import { decoded, detent as run, temporaryFolder } from "./support/Detent.ts"
import { project } from "./support/Project.ts"

const config = `
import { Event, Machine, State } from "@detent/machine"
import { defineConfig } from "@detent/workspace/Config"
import * as Schema from "effect/Schema"

const S = State({ Open: { customer: Schema.String, total: Schema.Int }, Paid: { customer: Schema.String, total: Schema.Int } })
const E = Event({ Pay: {} })
const Order = Machine.make({ name: "order", state: S, event: E, initial: S.Open })
  .on(S.Open, E.Pay, S.Paid)
  .index({ customer: (state) => state.customer, total: (state) => state.total })
  .final(S.Paid)

export default defineConfig({ machines: [Order] })
`

let cwd = ""
const detent = (...args: ReadonlyArray<string>) => run(args, { cwd })

beforeAll(async () => {
  cwd = join(await temporaryFolder(), "orders")
  await project(cwd, config)
  for (const [id, customer, total] of [
    ["o-1", "ada", 40],
    ["o-2", "bob", 400],
    ["o-3", "ada", 4000],
  ] as const) {
    const started = await detent("instance", "start", "order", id, "--with", JSON.stringify({ customer, total }))
    assert.strictEqual(started.code, 0, started.err)
  }
})

const find = async (...options: ReadonlyArray<string>) => {
  const { out, err, code } = await detent("instance", "list", "--machine", "order", ...options, "--json")
  assert.strictEqual(code, 0, err)
  return decoded(InstanceApi.InstanceListing, out).map(({ id }) => id)
}

describe("instances from the command line", () => {
  it("are found by their fields, in the order of one of them", async () => {
    assert.deepStrictEqual(await find("--where", "customer=ada"), ["o-1", "o-3"])
    assert.deepStrictEqual(await find("--where", "customer=ada, total>100"), ["o-3"])
    assert.deepStrictEqual(await find("--order", "total:desc", "--limit", "2"), ["o-3", "o-2"])
  })

  it("are found by a label, until it is removed", async () => {
    assert.strictEqual((await detent("instance", "label", "o-2", "incident=42", "team=ops")).code, 0)
    assert.deepStrictEqual(await find("--where", "label.incident=42"), ["o-2"])
    assert.strictEqual((await detent("instance", "label", "o-2", "incident=")).code, 0)
    assert.deepStrictEqual(await find("--where", "label.incident=42"), [])
    assert.deepStrictEqual(await find("--where", "label.team=ops"), ["o-2"])
  })

  it("are refused by name where a condition cannot be met", async () => {
    for (const [where, problem] of [
      ["colour=red", "colour"],
      ["total=ada", "total"],
      ["customer~ada", "="],
    ] as const) {
      const refused = await detent("instance", "list", "--machine", "order", "--where", where)
      assert.strictEqual(refused.code, 2, refused.out)
      assert.include(refused.err, problem)
    }
    assert.strictEqual((await detent("instance", "list", "--where", "customer=ada")).code, 2)
    assert.strictEqual((await detent("instance", "label", "none", "a=b")).code, 3)
  })
})
