/** A machine that requests commands without end, and handlers that log when they begin and end. */
import { appendFileSync, existsSync } from "node:fs"
import { CommandQueue } from "@detent/durable"
import { CommandResult, Event, Machine, RetryPolicy, Slot, State } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"

const S = State({ Open: { heard: Schema.Number } })

export const E = Event({ Ask: { token: Schema.String }, Done: { token: Schema.String }, Failed: { token: Schema.String } })

const token = { token: Schema.String }

const effects = Slot.Effects({ work: Slot.effect(token, { success: Schema.String, failure: Schema.Literal("busy") }), note: token })

export const retry = RetryPolicy.fixed({ delay: 5, maxAttempts: 6 })

/** One line of the log. */
export interface Execution {
  readonly key: string
  readonly pid: number
  readonly phase: "begins" | "ends"
  readonly at: number
}

const logged = <A, X>(log: string, key: string, work: Effect.Effect<A, X>) =>
  Effect.suspend(() => {
    const write = (phase: Execution["phase"]) =>
      appendFileSync(log, `${JSON.stringify({ key, pid: process.pid, phase, at: Date.now() } satisfies Execution)}\n`)
    write("begins")
    return Effect.tap(work, () => Effect.sync(() => write("ends")))
  })

/** Some end at once, some take a while, some fail and are tried again; `slowness` is the longest duration. */
const errand = (slowness: number) =>
  Effect.gen(function* () {
    const fate = yield* Random.next
    if (fate < 0.4) yield* Effect.sleep(slowness * (yield* Random.next))
    return fate > 0.8 ? yield* Effect.fail("busy" as const) : "done"
  })

/** From now on work that ended as a dead letter succeeds: its failure is none that the slot declares. */
export const repairFile = (log: string): string => `${log}.repaired`

const isBroken = (log: string, token: string): boolean => token.endsWith("2") && !existsSync(repairFile(log))

export const errands = (log: string, slowness: number) =>
  Machine.make({ name: "errands", state: S, event: E, effects, initial: S.Open({ heard: 0 }) })
    .on(S.Open, E.Ask, S.Open, ({ state, event, effects }) => {
      effects.work({ token: event.token })
      effects.note({ token: event.token })
      return S.Open({ heard: state.heard })
    })
    .on(S.Open, [E.Done, E.Failed], S.Open, ({ state }) => S.Open({ heard: state.heard + 1 }))
    .commands({
      work: {
        retry,
        onSuccess: (_, { parameters }) => E.Done({ token: parameters.token }),
        onFailure: (_, { parameters }) => E.Failed({ token: parameters.token }),
      },
      note: { retry, queue: "notes" },
    })
    .build({
      work: ({ token }, { key }) =>
        logged(log, key, isBroken(log, token) ? CommandResult.failForGood(new Error("broken")) : errand(slowness)),
      note: (parameters, { key }) =>
        logged(log, key, parameters.token.endsWith("3") ? CommandResult.alreadyExecuted("noted before") : Effect.void),
    })

/** The same for commands that are enqueued by hand. */
export const Letters = CommandQueue.make("letters", { payload: Schema.Struct(token), retry })

export const letters = (log: string, slowness: number) => Letters.handler((_, { key }) => logged(log, key, errand(slowness)))
