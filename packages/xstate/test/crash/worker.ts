/** A process that takes every scenario one step further at a time, and is killed meanwhile. */
import { Commands } from "@detent/durable"
import { type DatabaseAddress, openEngine } from "@detent/durable/promise"
import * as Effect from "effect/Effect"
import { scenarios } from "./scenarios.ts"

/** Takes all scenarios through their steps up to one; what was sent in an earlier life is answered, not repeated. */
export interface Order {
  readonly through: number
}

export type Report =
  | { readonly _tag: "Ready" }
  /** The first events of the last step are stored. */
  | { readonly _tag: "Stepping" }
  | { readonly _tag: "Stepped" }
  | { readonly _tag: "Ended"; readonly states: Readonly<Record<string, unknown>> }

const [database] = process.argv.slice(2) as [DatabaseAddress]
const report = (message: Report) => process.send?.(message)

const engine = await openEngine({ database, nodeId: "only", lease: "1 second", machines: scenarios.map(({ machine }) => machine) })

const take = async (through: number) => {
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
const allExecuted = () =>
  engine.runEffect(
    Effect.repeat(
      Effect.tap(
        Effect.flatMap(Commands, (commands) => commands.backlog),
        () => Effect.sleep("20 millis"),
      ),
      { until: (counts) => counts.every(({ count }) => count === 0) },
    ),
  )

const ended = async (through: number) => {
  const states = await take(through)
  if (Object.keys(states).length === scenarios.length) await allExecuted()
  return states
}

process.on("message", ({ through }: Order) => {
  ended(through).then(
    (states) => report(Object.keys(states).length === scenarios.length ? { _tag: "Ended", states } : { _tag: "Stepped" }),
    (error: unknown) => {
      console.error(error)
      process.exit(1)
    },
  )
})
report({ _tag: "Ready" })
