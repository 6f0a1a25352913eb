/** Workflows written as async functions, on every store. */
import { RetryPolicy } from "@detent/machine"
import * as Schema from "effect/Schema"
import { describe, expect, it } from "vitest"
import { DurableWorkflow } from "../../src/index.ts"
import { type DatabaseAddress, EngineClosed, ExecutionCancelled, openEngine, workflow } from "../../src/promise.ts"
import { freshAddress, kinds } from "./Databases.ts"

class Declined extends Schema.TaggedError<Declined>()("Declined", { code: Schema.String }) {}

const input = { order: Schema.String, amount: Schema.Finite }

/** Counts the executions of steps by name. */
const counter = () => {
  const runs: Record<string, number> = {}
  return { runs, count: (name: string) => (runs[name] = (runs[name] ?? 0) + 1) }
}

const until = async <A>(read: () => Promise<A | undefined>): Promise<A> => {
  for (;;) {
    const value = await read()
    if (value !== undefined) return value
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

describe.each(kinds)("on %s", (kind) => {
  const open = (database: DatabaseAddress, workflows: Parameters<typeof openEngine>[0]["workflows"]) =>
    openEngine({ database, nodeId: "node-1", ...(workflows === undefined ? {} : { workflows }) })

  it("steps, a sleep and an event: finished steps do not run again in any run of the function", async () => {
    const { runs, count } = counter()
    const Refund = workflow(
      { name: "refund", input, events: { approved: Schema.Struct({ by: Schema.String }) } },
      async ({ order, amount }, durable) => {
        count("body")
        const checked = await durable.step("check", async ({ key, attempt }) => ({ n: count("check"), key, attempt }))
        await durable.sleep("cooling off", "30 millis")
        const { by } = await durable.waitForEvent("approved")
        const paid = await durable.step("pay", async () => count("pay"))
        return { order, amount, by, checked, paid, id: durable.id }
      },
    )
    await using engine = await open(await freshAddress(kind), [Refund])
    const result = engine.workflows.run(Refund, "r-1", { order: "o-1", amount: 42 })
    await until(async () => (runs["body"] === 1 ? undefined : true))
    expect(await engine.workflows.result(Refund, "r-1")).toBeUndefined()
    await engine.workflows.sendEvent(Refund, "r-1", "approved", { by: "Ada" })
    await engine.workflows.sendEvent(Refund, "r-1", "approved", { by: "too late" })
    const expected = {
      order: "o-1",
      amount: 42,
      by: "Ada",
      checked: { n: 1, key: expect.stringMatching(/^[0-9a-f]{12}\/refund\/r-1\/check$/), attempt: 1 },
      paid: 1,
      id: "r-1",
    }
    expect(await result).toEqual(expected)
    expect(runs).toMatchObject({ check: 1, pay: 1 })
    expect(runs["body"]).toBeGreaterThan(1)
    expect(await engine.workflows.run(Refund, "r-1", { order: "again", amount: 0 })).toEqual(expected)
    expect(await engine.workflows.result(Refund, "r-1")).toEqual({ value: expected })
  })

  it("a step is tried again as its policy says, each attempt once, and then fails with the class it failed with", async () => {
    const { runs, count } = counter()
    const attempts: Array<number> = []
    const Pay = workflow({ name: "pay", input, failure: Declined }, async ({ amount }, durable) => {
      const flaky = await durable.step(
        "flaky",
        async ({ attempt }) => {
          attempts.push(attempt)
          if (attempt < 3) throw new Declined({ code: "busy" })
          return "third time"
        },
        { retry: RetryPolicy.fixed({ delay: 1, maxAttempts: 3 }) },
      )
      try {
        await durable.step(
          "hopeless",
          async () => {
            count("hopeless")
            throw new TypeError("no network")
          },
          { retry: RetryPolicy.fixed({ delay: 1, maxAttempts: 5 }), retryable: (error) => error instanceof Declined },
        )
      } catch (error) {
        expect(error).toMatchObject({ name: "TypeError", message: "no network" })
      }
      await durable.sleep("pause", "5 millis")
      if (amount > 10) await durable.step("refuse", () => Promise.reject(new Declined({ code: "too much" })), { retry: RetryPolicy.none })
      return flaky
    })
    await using engine = await open(await freshAddress(kind), [Pay])
    expect(await engine.workflows.run(Pay, "p-1", { order: "o", amount: 1 })).toBe("third time")
    expect(attempts).toEqual([1, 2, 3])
    expect(runs["hopeless"]).toBe(1)
    const refused = await engine.workflows.run(Pay, "p-2", { order: "o", amount: 11 }).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(Declined)
    expect(refused).toMatchObject({ code: "too much" })
    await expect(engine.workflows.result(Pay, "p-2")).rejects.toBeInstanceOf(Declined)
  })

  it("an event that does not come in time is undefined in every run, also when it comes later", async () => {
    const { runs, count } = counter()
    const Wait = workflow({ name: "wait", input, events: { approved: Schema.String, go: Schema.String } }, async (_, durable) => {
      const approved = await durable.waitForEvent("approved", { timeout: "20 millis" })
      if (approved === undefined) count("timed out")
      const after = await durable.waitForEvent("go", { timeout: "1 hour" })
      return { approved: approved ?? "none", after: after ?? "nothing" }
    })
    await using engine = await open(await freshAddress(kind), [Wait])
    const result = engine.workflows.run(Wait, "w-1", { order: "o", amount: 1 })
    await until(async () => runs["timed out"])
    await engine.workflows.sendEvent(Wait, "w-1", "approved", "late")
    await engine.workflows.sendEvent(Wait, "w-1", "go", "on")
    expect(await result).toEqual({ approved: "none", after: "on" })
    await engine.workflows.sendEvent(Wait, "w-2", "approved", "early")
    await engine.workflows.sendEvent(Wait, "w-2", "go", "early too")
    expect(await engine.workflows.run(Wait, "w-2", { order: "o", amount: 1 })).toEqual({ approved: "early", after: "early too" })
  })

  it("steps beside each other and beside a wait all run, once", async () => {
    const { runs, count } = counter()
    const Many = workflow({ name: "many", input, events: { go: Schema.String } }, async (_, durable) => {
      const [event, ...steps] = await Promise.all([
        durable.waitForEvent("go"),
        ...[1, 2, 3].map((n) =>
          durable.step(`step ${n}`, async () => {
            await new Promise((resolve) => setTimeout(resolve, n * 3))
            return count(`step ${n}`) * n
          }),
        ),
      ])
      return { event, steps }
    })
    await using engine = await open(await freshAddress(kind), [Many])
    const result = engine.workflows.run(Many, "m-1", { order: "o", amount: 1 })
    await until(async () => runs["step 3"])
    await engine.workflows.sendEvent(Many, "m-1", "go", "went")
    expect(await result).toEqual({ event: "went", steps: [1, 2, 3] })
  })

  it("a cancelled execution aborts the step under way and ends", async () => {
    let aborted = 0
    let started = false
    const Long = workflow({ name: "long", input }, async (_, durable) => {
      await durable.step("long", ({ signal }) => {
        started = true
        return new Promise<void>((_, reject) => {
          signal.addEventListener("abort", () => {
            aborted++
            reject(signal.reason)
          })
        })
      })
      await durable.step("never", async () => {
        aborted = -1
      })
    })
    await using engine = await open(await freshAddress(kind), [Long])
    await engine.workflows.start(Long, "l-1", { order: "o", amount: 1 })
    const ended = engine.workflows.run(Long, "l-1", { order: "o", amount: 1 }).catch((error: unknown) => error)
    await until(async () => started || undefined)
    await engine.workflows.cancel(Long, "l-1")
    expect(await ended).toEqual(new ExecutionCancelled({ workflow: "long", id: "l-1" }))
    expect(aborted).toBe(1)
    await expect(engine.workflows.result(Long, "l-1")).rejects.toThrow(/^execution l-1 of workflow long was cancelled; start another/)
  })

  it("an event that is sent right after cancel does not make the execution succeed", async () => {
    const Asked = workflow({ name: "asked", input, events: { go: Schema.String } }, async (_, durable) => durable.waitForEvent("go"))
    await using engine = await open(await freshAddress(kind), [Asked])
    for (const id of ["a-1", "a-2", "a-3"]) {
      const ended = engine.workflows.run(Asked, id, { order: "o", amount: 1 }).catch((error: unknown) => error)
      await until(async () => {
        const { instances } = await engine.runEffect(DurableWorkflow.list(Asked.definition))
        return instances.some((instance) => instance.id === id && instance.tag === "Suspended") || undefined
      })
      await engine.workflows.cancel(Asked, id)
      await engine.workflows.sendEvent(Asked, id, "go", "went")
      expect(await ended).toEqual(new ExecutionCancelled({ workflow: "asked", id }))
    }
  })

  it("a run that the engine leaves unfinished when it closes is rejected with where to continue, and so is a later call", async () => {
    const Wait = workflow({ name: "wait", input, events: { go: Schema.String } }, async (_, durable) => durable.waitForEvent("go"))
    const engine = await open(await freshAddress(kind), [Wait])
    const waiting = engine.workflows.run(Wait, "w-1", { order: "o", amount: 1 }).catch((error: unknown) => error)
    await until(async () => {
      const { instances } = await engine.runEffect(DurableWorkflow.list(Wait.definition))
      return instances.some(({ tag }) => tag === "Suspended") || undefined
    })
    await engine.close()
    const error = await waiting
    expect(error).toEqual(new EngineClosed({ execution: { workflow: "wait", id: "w-1" } }))
    expect((error as EngineClosed).message).toBe(
      "the engine was closed before execution w-1 of workflow wait ended; open another engine with openEngine, and workflows.run with the same id waits for its result, or starts it if it was not stored",
    )
    await expect(engine.workflows.run(Wait, "w-2", { order: "o", amount: 1 })).rejects.toEqual(new EngineClosed({}))
    await expect(engine.workflows.sendEvent(Wait, "w-1", "go", "on")).rejects.toBeInstanceOf(EngineClosed)
  })

  it("mistakes are named: a name used twice, a result that JSON would lose, an event that is not declared or does not fit", async () => {
    const Twice = workflow({ name: "twice", input }, async (_, durable) => {
      await durable.step("same", async () => 1)
      await durable.step("same", async () => 2)
    })
    const Lost = workflow({ name: "lost", input }, async (_, durable) => {
      await durable.step("date", (async () => ({ at: { first: new Date(0) } })) as unknown as () => Promise<string>)
    })
    const Kept = workflow({ name: "kept", input, success: Schema.Date, events: { at: Schema.Date } }, async (_, durable) => {
      await durable.step("nothing", async () => undefined)
      const at = await durable.step("date", async () => new Date(0), { success: Schema.Date })
      await durable.sleep("pause", "1 milli")
      return at
    })
    await using engine = await open(await freshAddress(kind), [Twice, Lost, Kept])
    const one = { order: "o", amount: 1 }
    await expect(engine.workflows.run(Twice, "1", one)).rejects.toThrow(/activity same is run twice/)
    await expect(engine.workflows.run(Lost, "1", one)).rejects.toThrow(
      /step date of workflow lost returned an instance of Date in at.first, which JSON would lose; return plain data, or pass \{ success: schema \}/,
    )
    expect(await engine.workflows.run(Kept, "1", one)).toEqual(new Date(0))
    await expect(engine.workflows.run(Kept, "2", { order: 7, amount: 1 } as never)).rejects.toThrow(
      /^the input of workflow kept does not fit: order: Expected string$/,
    )
    await expect(engine.workflows.sendEvent(Kept, "1", "at", "today" as never)).rejects.toThrow(
      /^event at of workflow kept does not fit: Expected .*Date.*$/,
    )
    await expect(engine.workflows.sendEvent(Kept, "1", "other" as never, new Date(0) as never)).rejects.toThrow(/declares no event other/)
    const numeric = 7 as unknown as string
    for (const use of [
      () => engine.workflows.run(Kept, numeric, one),
      () => engine.workflows.start(Kept, numeric, one),
      () => engine.workflows.result(Kept, numeric),
      () => engine.workflows.sendEvent(Kept, numeric, "at", new Date(0)),
      () => engine.workflows.cancel(Kept, numeric),
    ])
      await expect(use()).rejects.toThrow("no execution of workflow kept can be used: its id is of type number; give it a string")
    for (const [odd, problem] of [
      ["a\u0000b", /can be used: its id "a\\u0000b" holds a null character$/],
      ["a\ud800b", /can be used: its id "a\\ud800b" holds half of a surrogate pair/],
      ["x".repeat(1001), /can be used: its id "x+"… takes 1001 bytes, the limit is 1000: use a shorter one/],
    ] as const) {
      const storing = [
        () => engine.workflows.run(Kept, odd, one),
        () => engine.workflows.start(Kept, odd, one),
        () => engine.workflows.sendEvent(Kept, odd, "at", new Date(0)),
      ]
      const reading = [() => engine.workflows.result(Kept, odd), () => engine.workflows.cancel(Kept, odd)]
      for (const use of odd.length > 1000 ? storing : [...storing, ...reading])
        await expect(use()).rejects.toMatchObject({ name: "TypeError", message: expect.stringMatching(problem) })
    }
    const Unknown = workflow({ name: "unknown", input }, async () => undefined)
    await expect(engine.workflows.run(Unknown, "1", one)).rejects.toThrow(/workflow unknown is not known to this engine; pass it/)
  })

  it("an execution is in the journal like any Effect workflow's", async () => {
    const Short = workflow({ name: "short", input }, async (_, durable) => durable.step("only", async () => "done"))
    await using engine = await open(await freshAddress(kind), [Short])
    await engine.workflows.run(Short, "s-1", { order: "o", amount: 1 })
    const { instances } = await engine.runEffect(DurableWorkflow.list(Short.definition))
    expect(instances.map(({ id, tag }) => [id, tag])).toEqual([["s-1", "Completed"]])
    const events = await engine.runEffect(DurableWorkflow.history(Short.definition, "s-1"))
    expect(events.map(({ tag }) => tag)).toContain("Activity/only")
  })
})

it.each(["SQLite", "PostgreSQL"] as const)("on %s an execution continues after its engine was closed and opened again", async (kind) => {
  const database = await freshAddress(kind)
  const { runs, count } = counter()
  const Refund = workflow({ name: "refund", input, events: { approved: Schema.String } }, async (_, durable) => {
    const first = await durable.step("first", async () => count("first"))
    const undefinedOne = await durable.step("nothing", async () => undefined)
    const by = await durable.waitForEvent("approved")
    const second = await durable.step("second", async () => count("second"))
    return { first, second, by, isUndefined: undefinedOne === undefined }
  })
  {
    await using engine = await openEngine({ database, nodeId: "node-1", workflows: [Refund] })
    await engine.workflows.start(Refund, "r-1", { order: "o-1", amount: 42 })
    await until(async () => runs["first"])
  }
  await using engine = await openEngine({ database, nodeId: "node-1", workflows: [Refund] })
  await engine.workflows.sendEvent(Refund, "r-1", "approved", "Ada")
  expect(await until(() => engine.workflows.result(Refund, "r-1"))).toEqual({
    value: { first: 1, second: 1, by: "Ada", isUndefined: true },
  })
  expect(runs).toEqual({ first: 1, second: 1 })
})
