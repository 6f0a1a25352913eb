/** Charts with the events that take them to their ends: parallel regions, history, delays, promises and the lives of actors. */
import { appendFileSync } from "node:fs"
import { RetryPolicy } from "@detent/machine"
import { type AnyStateMachine, assign, cancel, fromCallback, fromPromise, raise, sendParent, sendTo, setup, stopChild } from "xstate"
import { fromXState, type XStateMachine } from "../../src/index.ts"

interface Seen {
  readonly _tag: string
  readonly value: unknown
  readonly context: unknown
}

/** One step: what the state must be like, and the event that is sent then. */
export interface ScenarioStep {
  readonly when?: (state: Seen) => boolean
  readonly send: { readonly type: string }
}

export interface Scenario {
  readonly name: string
  readonly machine: XStateMachine<AnyStateMachine>
  readonly steps: ReadonlyArray<ScenarioStep>
}

/** Where actions leave what they did: one line for each execution. */
const log = process.env["DETENT_SCENARIO_LOG"]
const note = (line: string) => (log === undefined ? undefined : appendFileSync(log, `${line}\n`))

type Go = { readonly type: "a" } | { readonly type: "b" } | { readonly type: "c" } | { readonly type: "end" }

const durable = (machine: AnyStateMachine, options: object = {}) =>
  fromXState(machine, {
    actions: {
      note: (params: { readonly text: string }, call: { readonly id: string; readonly key: string }) =>
        note(`${call.id}: ${params.text} as ${call.key}`),
    },
    ...options,
  } as never) as XStateMachine<AnyStateMachine>

const base = setup({
  types: { context: {} as { n: number; seen: ReadonlyArray<string> }, events: {} as Go },
  actions: { note: (_, _params: { text: string }) => undefined },
})

const start = { n: 0, seen: [] as ReadonlyArray<string> }

const remember = (text: string) => base.assign({ seen: ({ context }) => [...context.seen, text] })

/** Regions side by side, which end one after the other. */
const parallel = (regions: number): Scenario => ({
  name: `parallel ${regions}`,
  machine: durable(
    base.createMachine({
      id: `parallel-${regions}`,
      context: start,
      initial: "work",
      states: {
        work: {
          type: "parallel",
          states: Object.fromEntries(
            Array.from({ length: regions }, (_, index) => [
              `r${index}`,
              {
                initial: "one",
                states: {
                  one: {
                    on: { a: { target: "two", actions: [remember(`r${index}`), { type: "note", params: { text: `two ${index}` } }] } },
                  },
                  two: { on: index % 2 === 0 ? { b: "done" } : { b: {}, c: "done" } },
                  done: { type: "final" },
                },
              } as const,
            ]),
          ),
          onDone: "rest",
        },
        rest: { on: { end: "end" } },
        end: { type: "final" },
      },
    }),
  ),
  steps: [
    { send: { type: "a" } },
    { send: { type: "b" } },
    { send: { type: "c" } },
    { when: ({ _tag }) => _tag === "rest", send: { type: "end" } },
  ],
})

/** Left and entered again by its history. */
const history = (kind: "shallow" | "deep", variant: number): Scenario => ({
  name: `history ${kind} ${variant}`,
  machine: durable(
    base.createMachine({
      id: `history-${kind}-${variant}`,
      context: start,
      initial: "work",
      states: {
        work: {
          initial: "first",
          states: {
            first: { on: { a: "second" } },
            second: {
              initial: "x",
              states: { x: { on: { a: "y" } }, y: { entry: { type: "note", params: { text: "y" } } } },
            },
            back: { type: "history", history: kind },
          },
          on: { b: "away", end: "end" },
        },
        away: { entry: remember("away"), on: { c: "work.back" } },
        end: { type: "final" },
      },
    }),
  ),
  steps: [
    ...Array.from({ length: variant }, () => ({ send: { type: "a" } })),
    { send: { type: "b" } },
    { send: { type: "c" } },
    { send: { type: "end" } },
  ],
})

/** Delays of states, raised events with a delay, and one that is cancelled. */
const delays = (millis: number): Scenario => ({
  name: `delays ${millis}`,
  machine: durable(
    setup({
      types: { context: {} as { n: number; seen: ReadonlyArray<string> }, events: {} as Go | { type: "later" } | { type: "never" } },
      actions: { note: (_, _params: { text: string }) => undefined },
    }).createMachine({
      id: `delays-${millis}`,
      context: start,
      initial: "waiting",
      states: {
        waiting: {
          entry: [raise({ type: "never" }, { delay: millis * 4, id: "never" })],
          on: { a: { target: "timed", actions: cancel("never") } },
        },
        timed: { after: { [millis]: { target: "raised", actions: { type: "note", params: { text: "timed" } } } } },
        raised: {
          entry: raise({ type: "later" }, { delay: millis, id: "later" }),
          on: { later: { target: "rest", actions: assign({ n: ({ context }) => context.n + 1 }) } },
        },
        rest: { on: { end: "end", never: { actions: assign({ n: 1000 }) } } },
        end: { type: "final" },
      },
    }),
  ),
  steps: [{ send: { type: "a" } }, { when: ({ _tag }) => _tag === "rest", send: { type: "end" } }],
})

/** A promise that succeeds, or fails before it does. */
const promises = (failures: number): Scenario => ({
  name: `promise after ${failures} failures`,
  machine: durable(
    setup({
      types: { context: {} as { n: number; seen: ReadonlyArray<string> }, events: {} as Go },
      actors: {
        work: fromPromise(async ({ input }: { input: { n: number; failures: number } }) => {
          await new Promise((resolve) => setTimeout(resolve, 10))
          if (input.n < input.failures) throw new Error(`failure ${input.n}`)
          return input.n * 10
        }),
      },
      actions: { note: (_, _params: { text: string }) => undefined },
    }).createMachine({
      id: `promise-${failures}`,
      context: start,
      initial: "idle",
      states: {
        idle: { on: { a: "working" } },
        working: {
          invoke: {
            src: "work",
            input: ({ context }) => ({ n: context.n, failures }),
            onDone: {
              target: "rest",
              actions: [
                assign({ seen: ({ context, event }) => [...context.seen, `done ${event.output}`] }),
                { type: "note", params: { text: "done" } },
              ],
            },
            onError: {
              target: "working",
              reenter: true,
              actions: assign({
                n: ({ context }) => context.n + 1,
                // Not its message: where a kill meets the last attempt, the error says that its end is unknown.
                seen: ({ context }) => [...context.seen, `failure ${context.n}`],
              }),
            },
          },
        },
        rest: { on: { end: "end" } },
        end: { type: "final" },
      },
    }),
    { actors: { work: { retry: RetryPolicy.fixed({ delay: 5, maxAttempts: 12 }) } } },
  ),
  steps: [{ send: { type: "a" } }, { when: ({ _tag }) => _tag === "rest", send: { type: "end" } }],
})

/** Children that answer their parent and end, one after the other or at once. */
const children = (count: number, how: "invoke" | "spawn"): Scenario => {
  const child = setup({
    types: {
      context: {} as { name: string; asked: number },
      input: {} as { name: string },
      events: {} as { type: "ask" } | { type: "finish" },
      output: {} as { name: string; asked: number },
    },
  }).createMachine({
    id: "child",
    context: ({ input }) => ({ name: input.name, asked: 0 }),
    initial: "alive",
    states: {
      alive: {
        on: {
          ask: {
            actions: [
              assign({ asked: ({ context }) => context.asked + 1 }),
              sendParent(({ context }) => ({ type: "answer", from: context.name })),
            ],
          },
          finish: "gone",
        },
      },
      gone: { type: "final" },
    },
    output: ({ context }) => context,
  })
  const names = Array.from({ length: count }, (_, index) => `kid${index}`)
  const parent = setup({
    types: {
      context: {} as { answers: ReadonlyArray<string>; outputs: ReadonlyArray<unknown> },
      events: {} as Go | { type: "answer"; from: string },
    },
    actors: { child },
  })
  const answered = parent.assign({
    answers: ({ context, event }) => (event.type === "answer" ? [...context.answers, event.from].sort() : context.answers),
  })
  const toAll = (type: "ask" | "finish") => names.map((name) => sendTo(name, { type }))
  return {
    name: `${count} children by ${how}`,
    machine: durable(
      parent.createMachine({
        id: `children-${how}-${count}`,
        context: { answers: [], outputs: [] },
        initial: "family",
        states: {
          family: {
            ...(how === "invoke"
              ? { invoke: names.map((name) => ({ id: name, src: "child" as const, input: { name } })) }
              : { entry: names.map((name) => parent.spawnChild("child", { id: name, input: { name } })) }),
            on: {
              a: { actions: toAll("ask") },
              answer: { actions: answered },
              b: { actions: toAll("finish") },
              "xstate.done.actor.*": {
                actions: assign({
                  outputs: ({ context, event }: { context: { outputs: ReadonlyArray<unknown> }; event: { type: string } }) =>
                    [...context.outputs, (event as unknown as { output: unknown }).output].sort((left, right) =>
                      JSON.stringify(left) < JSON.stringify(right) ? -1 : 1,
                    ),
                }),
              },
              end: "end",
            } as never,
          },
          end: { type: "final" },
        },
      }),
      { actions: {} },
    ),
    steps: [
      { send: { type: "a" } },
      { when: ({ context }) => (context as { answers: ReadonlyArray<string> }).answers.length === count, send: { type: "b" } },
      { when: ({ context }) => (context as { outputs: ReadonlyArray<unknown> }).outputs.length === count, send: { type: "end" } },
    ],
  }
}

/** A child that is stopped before it answers, and one that its parent's end stops. */
const stopping = (variant: number): Scenario => {
  const child = setup({ types: { events: {} as { type: "ask" } } }).createMachine({
    id: "slow",
    initial: "alive",
    // The even ones are stopped long before; after a restart the others are as late as their process.
    states: { alive: { after: { [variant % 2 === 0 ? 600_000 : 40]: { actions: sendParent({ type: "late" }) } } } },
  })
  const parent = setup({
    types: { context: {} as { late: number }, events: {} as Go | { type: "late" } },
    actors: { child },
  })
  return {
    name: `stopping ${variant}`,
    machine: durable(
      parent.createMachine({
        id: `stopping-${variant}`,
        context: { late: 0 },
        entry: parent.spawnChild("child", { id: "kid" }),
        initial: "one",
        states: {
          one: { on: { a: { target: "two", ...(variant % 2 === 0 ? { actions: stopChild("kid") } : {}) } } },
          two: { after: { 120: "rest" } },
          rest: { on: { end: "end" } },
          end: { type: "final" },
        },
        on: { late: { actions: assign({ late: ({ context }) => context.late + 1 }) } },
      }),
      { actions: {} },
    ),
    steps: [
      { send: { type: "a" } },
      {
        when: ({ _tag, context }) => _tag === "rest" && (variant % 2 === 0 || (context as { late: number }).late === 1),
        send: { type: "end" },
      },
    ],
  }
}

/** A callback that is restarted with its process and says so; the chart takes the first word of each state. */
const callbacks = (variant: number): Scenario => ({
  name: `callback ${variant}`,
  machine: durable(
    setup({
      types: { context: {} as { n: number }, events: {} as Go | { type: "ready" } },
      actors: {
        device: fromCallback(({ sendBack }) => {
          const timer = setTimeout(() => sendBack({ type: "ready" }), 5 * variant)
          return () => clearTimeout(timer)
        }),
      },
    }).createMachine({
      id: `callback-${variant}`,
      context: { n: 0 },
      initial: "off",
      states: {
        off: { on: { a: "on" } },
        on: {
          invoke: { id: "device", src: "device" },
          on: { ready: { target: "rest", actions: assign({ n: ({ context }) => context.n + 1 }) } },
        },
        rest: { on: { end: "end" } },
        end: { type: "final" },
      },
    }),
    { actions: {} },
  ),
  steps: [{ send: { type: "a" } }, { when: ({ _tag }) => _tag === "rest", send: { type: "end" } }],
})

export const scenarios: ReadonlyArray<Scenario> = [
  ...[1, 2, 3, 4, 5, 6].map(parallel),
  ...[0, 1, 2].map((variant) => history("shallow", variant)),
  ...[0, 1, 2].map((variant) => history("deep", variant)),
  ...[1, 10, 25, 50, 100, 150].map(delays),
  ...[0, 1, 2, 3, 4, 5].map(promises),
  ...[1, 2, 3, 4].map((count) => children(count, "invoke")),
  ...[1, 2, 3, 4].map((count) => children(count, "spawn")),
  ...[0, 1, 2, 3].map(stopping),
  ...[0, 1, 2, 3].map(callbacks),
]
