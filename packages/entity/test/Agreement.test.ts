/** Random workflows do what their definition says, whatever is asked of them. */
import { ActorSystem, type Inspection, Machine } from "@detent/machine"
import { afterAll, describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { EntityWorkflow, Processor, Registry, type WorkflowDefinition } from "../src/index.ts"
import { Endless, Reference, type Tool, type Tools } from "./Reference.ts"
import { logged, Ticket } from "./tickets.ts"

const refuse = (message: string): never => {
  throw new Error(message)
}

const pure = (run: Tool["run"]): Tool => ({ effect: false, attempts: 1, run })
const effect = (attempts: number, run: Tool["run"]): Tool => ({ effect: true, attempts, run })

const tools = {
  processors: {
    a: pure((entity) => logged(entity, "a")),
    b: pure((entity) => logged(entity, "b")),
    double: pure((entity) => ({ ...entity, amount: entity.amount * 2 })),
    throwing: pure(() => refuse("cannot")),
    call: effect(1, (entity) => logged(entity, "call")),
    flaky: effect(3, (entity, attempt) => (attempt === 1 ? refuse("busy") : logged(entity, `flaky ${attempt}`))),
    broken: effect(2, () => refuse("down")),
  },
  criteria: {
    small: ({ amount }: Ticket) => amount < 10,
    even: ({ amount }: Ticket) => amount % 2 === 0,
    short: ({ log }: Ticket) => log.length < 5,
    long: ({ log }: Ticket) => log.length >= 3,
  },
} satisfies Tools

type ProcessorName = keyof typeof tools.processors

/** The same tools, as a registry has them. Effects tell the list of calls. */
const registryFor = (calls: Array<string>) =>
  Registry.make(Ticket, {
    processors: Object.fromEntries(
      Object.entries<Tool>(tools.processors).map(([name, tool]) => [
        name,
        tool.effect
          ? Processor.effect(
              (entity: Ticket, { key, attempt }) =>
                Effect.try({
                  try: () => {
                    calls.push(`${key.split("/")[2]} ${name} ${attempt}`)
                    return tool.run(entity, attempt)
                  },
                  catch: (error) => (error as Error).message,
                }),
              { retry: { attempts: tool.attempts, delay: 0 } },
            )
          : Processor.pure((entity: Ticket) => tool.run(entity, 1)),
      ]),
    ),
    criteria: tools.criteria,
  })

const index = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 }))

const Outline = Schema.Struct({
  transitions: Schema.Array(
    Schema.Struct({
      from: Schema.Array(index).check(Schema.isMaxLength(3)),
      to: index,
      manual: Schema.Boolean,
      processors: Schema.Array(Schema.Literals(Object.keys(tools.processors) as Array<ProcessorName>)).check(Schema.isMaxLength(3)),
      criteria: Schema.Array(Schema.Literals(["small", "even", "short", "long"])).check(Schema.isMaxLength(2)),
      criteriaAfter: Schema.Boolean,
    }),
  ).check(Schema.isMinLength(1), Schema.isMaxLength(9)),
  failure: Schema.Int.check(Schema.isBetween({ minimum: -1, maximum: 8 })),
  amount: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 })),
  events: Schema.Array(
    Schema.Struct({
      update: Schema.Boolean,
      amount: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 })),
      transition: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 8 })),
    }),
  ).check(Schema.isMaxLength(8)),
})

const stateName = (at: number) => `s${at}`
const transitionName = (at: number) => `t${at}`

const definitionOf = ({ transitions, failure }: typeof Outline.Type): WorkflowDefinition => ({
  name: "random",
  states: [0, 1, 2, 3, 4].map(stateName),
  initial: stateName(0),
  ...(failure >= 0 && failure < transitions.length ? { failure: transitionName(failure) } : {}),
  transitions: transitions.map(({ from, to, ...rest }, at) => ({
    ...rest,
    name: transitionName(at),
    // No source stands for any state, and one for the initial state is there in any case.
    from: at === 0 ? stateName(0) : from.length === 0 ? "*" : [...new Set(from.map(stateName))],
    to: stateName(to),
  })),
})

/** What both must agree on. */
const view = (state: string, entity: Ticket, error: object | undefined) => {
  const { at: _, ...known } = (error ?? {}) as { readonly at?: number }
  return { state, entity, error: known }
}

/** Decided again, every event leads to the state it led to. */
const replays = (machine: Machine.Definition<unknown, unknown, never, never>, inspections: ReadonlyArray<Inspection>) => {
  let state: unknown
  for (const one of inspections) {
    if (one._tag === "Started") state = one.state
    if (one._tag !== "Decided") continue
    const { decision, at } = one
    const again = Machine.replay(machine, state as never, decision.event as never, at, decision.guardAnswers)
    expect(again).toMatchObject({ _tag: decision._tag, state: decision.state })
    state = (again as typeof decision).state
  }
}

let compared = 0

const agrees = (outline: typeof Outline.Type) =>
  Effect.gen(function* () {
    const calls: Array<string> = []
    const definition = definitionOf(outline)
    const loaded = yield* Effect.result(EntityWorkflow.fromJson(JSON.stringify(definition), registryFor(calls)))
    // Some have circles that never end, which loading reports.
    if (Result.isFailure(loaded)) return
    const workflow = loaded.success
    const first: Ticket = { amount: outline.amount, log: [] }
    try {
      const reference = new Reference(definition, tools, first)
      const system = yield* ActorSystem.make
      const inspections: Array<Inspection> = []
      system.inspectUnsafe((inspection) => inspections.push(inspection))
      const actor = yield* system.spawn("one", workflow.machine, first)
      const check = Effect.gen(function* () {
        yield* TestClock.adjust(0)
        for (let turns = 0; turns < 200; turns++) yield* Effect.yieldNow
        const { _tag, entity, error, pending } = yield* actor.state
        expect(pending).toBeUndefined()
        expect(view(_tag, entity, error)).toEqual(view(reference.state, reference.entity, reference.error))
        const withoutTransition = (call: string) => call.split(" ").slice(1).join(" ")
        expect(calls.map(withoutTransition)).toEqual(reference.calls.map(withoutTransition))
      })
      yield* check
      for (const event of outline.events) {
        const name = transitionName(event.transition)
        const isKnown = definition.transitions.some((one) => one.name === name && one.manual === true)
        if (!event.update && !isKnown) continue
        const expected = event.update ? reference.update(event.amount) : reference.trigger(name)
        const sent = yield* Effect.result(actor.send(event.update ? workflow.update({ amount: event.amount }) : workflow.trigger(name)))
        expect(Result.isSuccess(sent)).toBe(expected)
        yield* check
      }
      const callsBefore = calls.length
      replays(workflow.machine, inspections)
      expect(calls.length).toBe(callsBefore)
      compared++
    } catch (error) {
      if (!(error instanceof Endless)) throw error
    }
  }).pipe(Effect.scoped)

describe("a compiled workflow", () => {
  afterAll(() => {
    // The others do not end, which loading or running reports.
    expect(compared).toBeGreaterThan(300)
  })

  it.effect.prop(
    "does what the reference does (states, entities, errors, calls in their order), and a replay does the same without any call",
    [Arbitrary.schema(Outline)],
    ([outline]) => agrees(outline),
    { arbitrary: { runs: 600, size: 12 } },
  )
})
