/** A process that takes every scenario one step further at a time, and is killed meanwhile. */
import { flushCompileCache } from "node:module"
import { Commands } from "@detent/durable"
import { type DatabaseAddress, openEngine } from "@detent/durable/promise"
import * as Effect from "effect/Effect"
import { scenarios } from "./scenarios.ts"

export type Order =
  | { readonly _tag: "Open"; readonly database: DatabaseAddress }
  /** Takes all scenarios through their steps up to one; what was sent in an earlier life is answered, not repeated. */
  | { readonly _tag: "Take"; readonly through: number }

export type Report =
  | { readonly _tag: "Ready" }
  /** The first events of the last step are stored. */
  | { readonly _tag: "Stepping" }
  | { readonly _tag: "Stepped" }
  | { readonly _tag: "Ended"; readonly states: Readonly<Record<string, unknown>> }

const report = (message: Report) => process.send?.(message)

const open = (database: DatabaseAddress) =>
  openEngine({ database, nodeId: "only", lease: "1 second", machines: scenarios.map(({ machine }) => machine) })

type Engine = Awaited<ReturnType<typeof open>>

const take = async (engine: Engine, through: number) => {
  const ends = await Promise.all(
    scenarios.map(async ({ name, machine, steps }) => {
      const instance = await engine.ensure(machine, name)
      for (const [index, { when, send }] of steps.slice(0, through).entries()) {
        if (when !== undefined) await instance.waitFor((state) => when(state) || state.status !== "active")
        await instance.send(send as never, { id: `step-${index}` })
        if (index === through - 1) report({ _tag: "Stepping" })
      }
      if (through < steps.length) return undefined
      const state = await instance.waitFor(({ status }) => status !== "active")
      return [name, { ...state, count: undefined }] as const
    }),
  )
  return Object.fromEntries(ends.filter((end) => end !== undefined))
}

/** Commands are executed after the transition that requested them: an instance may have ended before its last one. */
const allExecuted = (engine: Engine) =>
  engine.runEffect(
    Effect.repeat(
      Effect.tap(
        Effect.flatMap(Commands, (commands) => commands.backlog),
        () => Effect.sleep("20 millis"),
      ),
      { until: (counts) => counts.every(({ count }) => count === 0) },
    ),
  )

const ended = async (engine: Engine, through: number) => {
  const states = await take(engine, through)
  if (Object.keys(states).length === scenarios.length) await allExecuted(engine)
  return states
}

let engine: Promise<Engine> | undefined

const follow = async (order: Order): Promise<Report> => {
  if (order._tag === "Open") {
    engine = open(order.database)
    await engine
    return { _tag: "Ready" }
  }
  if (engine === undefined) throw new Error("no database was opened")
  const states = await ended(await engine, order.through)
  return Object.keys(states).length === scenarios.length ? { _tag: "Ended", states } : { _tag: "Stepped" }
}

process.on("message", (order: Order) => {
  follow(order).then(report, (error: unknown) => {
    console.error(error)
    process.exit(1)
  })
})
// A killed process does not write its cache of compiled modules, so this one does it before it may be killed.
flushCompileCache()
