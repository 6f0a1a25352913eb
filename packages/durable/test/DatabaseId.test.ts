/** Handlers get keys that no other database gives out, so that a provider never takes a request for one of an earlier database. */
import { copyFile } from "node:fs/promises"
import { Event, Machine, RetryPolicy, Slot, State } from "@detent/machine"
import * as SqliteStore from "@detent/store/SqliteStore"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { SqlClient } from "effect/sql/SqlClient"
import { describe, expect, it, onTestFinished } from "vitest"
import { freshFile } from "../../store/test/support/Sqlite.ts"
import { DeadLetters } from "../src/index.ts"
import { copyDatabase } from "../src/operate/DatabaseCopy.ts"
import { type DatabaseAddress, openEngine, workflow } from "../src/promise.ts"
import { freshAddress, kinds } from "./promise/Databases.ts"

const S = State({ Open: {}, Charging: {}, Paid: { receipt: Schema.String } })
const E = Event({ Pay: {}, Charged: { receipt: Schema.String } })
const effects = Slot.Effects({ charge: Slot.effect({}, { success: Schema.String }) })
const keysOfSuccess: Array<string> = []
const Invoice = Machine.make({ name: "invoice", state: S, event: E, effects, initial: S.Open() })
  .on(S.Open, E.Pay, S.Charging, ({ effects }) => {
    effects.charge({})
    return S.Charging()
  })
  .on(S.Charging, E.Charged, S.Paid)
  .final(S.Paid)
  .commands({
    charge: {
      retry: RetryPolicy.fixed({ delay: 1, maxAttempts: 2 }),
      onSuccess: (receipt, { key }) => {
        keysOfSuccess.push(key)
        return E.Charged({ receipt })
      },
    },
  })

/** The keys that the handler of a command, and a step, got in each of their attempts for one invoice in this database. */
const keysFor = async (database: DatabaseAddress, id: string) => {
  const keys: { command: Array<string>; step: Array<string> } = { command: [], step: [] }
  const machine = Invoice.build({
    charge: async (_, { key }) => {
      if (keys.command.push(key) === 1) throw new Error("the line is busy")
      return `receipt of ${key}`
    },
  })
  const Bill = workflow({ name: "bill", input: {} }, async (_, durable) =>
    durable.step(
      "charge",
      async ({ key }) => {
        if (keys.step.push(key) === 1) throw new Error("the line is busy")
      },
      { retry: RetryPolicy.fixed({ delay: 1, maxAttempts: 2 }) },
    ),
  )
  await using engine = await openEngine({ database, machines: [machine], workflows: [Bill] })
  const invoice = await engine.start(machine, id)
  await invoice.send(E.Pay())
  const paid = await invoice.waitFor((state) => state._tag === "Paid")
  await engine.workflows.run(Bill, id, {})
  expect(paid).toEqual(S.Paid({ receipt: `receipt of ${keys.command[0]}` }))
  expect(new Set(keys.command)).toHaveLength(1)
  expect(new Set(keys.step)).toHaveLength(1)
  return { command: keys.command[0] ?? "", step: keys.step[0] ?? "" }
}

/** The id of the database, which every key begins with. */
const databaseIdOf = (key: string) => /^([0-9a-f]{12})\//.exec(key)?.[1] ?? `no id in ${key}`

describe.each(kinds)("keys on %s", (kind) => {
  it("carry the id of the database, which differs between databases", async () => {
    const first = await keysFor(await freshAddress(kind), "s2")
    const second = await keysFor(await freshAddress(kind), "s2")
    const id = databaseIdOf(first.command)
    expect(first).toEqual({ command: `${id}/invoice/s2/1/0`, step: `${id}/bill/s2/charge` })
    expect(keysOfSuccess).toContain(first.command)
    expect(databaseIdOf(second.command)).not.toBe(id)
  })

  it("name the command to an operator, too", async () => {
    let handed = ""
    const machine = Invoice.build({
      charge: async (_, { key }) => {
        handed = key
        throw new Error("no funds")
      },
    })
    await using engine = await openEngine({ database: await freshAddress(kind), machines: [machine] })
    const invoice = await engine.start(machine, "s3")
    await invoice.send(E.Pay())
    await expect.poll(async () => (await engine.runEffect(DeadLetters.list())).commands.length).toBe(1)
    const found = Option.getOrThrow(await engine.runEffect(DeadLetters.get(handed)))
    expect([found.key, `${databaseIdOf(handed)}/${found.key}`]).toEqual(["invoice/s3/1/0", handed])
    expect(await engine.runEffect(DeadLetters.retry(handed))).toBe(true)
    await expect.poll(async () => (await engine.runEffect(DeadLetters.list())).commands.length).toBe(1)
    expect(await engine.runEffect(DeadLetters.skip(handed, "paid in cash"))).toBe(true)
  })
})

const clientOf = (filename: string) =>
  Effect.map(Layer.build(Layer.fresh(SqliteStore.layer({ filename }))), (context) => SqlClient.pipe(Effect.provideContext(context))).pipe(
    Effect.flatten,
  )

describe("the id of a database", () => {
  it.each(["SQLite", "PostgreSQL"] as const)("is the same after a restart on %s", async (kind) => {
    const database = await freshAddress(kind)
    const before = await keysFor(database, "a")
    const after = await keysFor(database, "b")
    expect(databaseIdOf(after.command)).toBe(databaseIdOf(before.command))
    expect(databaseIdOf(after.step)).toBe(databaseIdOf(before.command))
  })

  it("is kept by a copy into another database, and by a restored file", async () => {
    const scope = Scope.makeUnsafe()
    onTestFinished(() => Effect.runPromise(Scope.close(scope, Exit.void)))
    const [source, target, restored] = await Effect.runPromise(
      Effect.all([freshFile, freshFile, freshFile]).pipe(Effect.provideService(Scope.Scope, scope)),
    )
    const before = await keysFor(`sqlite:${source}`, "before")
    await Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const [from, to] = [yield* clientOf(source), yield* clientOf(target)]
          yield* copyDatabase({ source: from, target: to, name: "the source", force: true })
          yield* from`pragma wal_checkpoint(truncate)`
        }),
      ),
    )
    await copyFile(source, restored)
    for (const file of [target, restored]) {
      expect(databaseIdOf((await keysFor(`sqlite:${file}`, "after")).command)).toBe(databaseIdOf(before.command))
    }
  })
})
