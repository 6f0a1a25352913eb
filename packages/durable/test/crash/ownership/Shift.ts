/**
 * A machine that always has work, and the log in which each run of that work writes down when it begins, beats and ends.
 *
 * Times are of the system's monotonic clock, so that the logs of several processes can be compared.
 */
import { appendFileSync, existsSync } from "node:fs"
import { Event, Machine, refuse, State } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"

export const S = State({ Ping: { round: Schema.Int }, Pong: { round: Schema.Int }, Finished: { rounds: Schema.Int } })

export const E = Event({
  /** Sent by the work of a round when it is done; the last one finishes the instance. */
  Done: { round: Schema.Int, last: Schema.Boolean },
  /** Sent by any process at any time: leaves the state in the middle of its work. */
  Skip: {},
})

/**
 * `begin`, then a `beat` at each step of the work, then `end` when the work is through or `stopped` when it was interrupted.
 * `done` follows `end` when the store has taken the result.
 */
export type Phase = "begin" | "beat" | "end" | "done" | "stopped"

export interface WorkRecord {
  readonly pid: number
  /** Numbers the runs of one process. */
  readonly run: number
  readonly id: string
  readonly round: number
  readonly phase: Phase
  readonly at: number
}

/** Milliseconds of the system's monotonic clock. */
export const monotonicMillis = (): number => Number(process.hrtime.bigint()) / 1e6

const beatMillis = 100

export interface ShiftOptions {
  /** Each record is a line. The file has one writer. */
  readonly log: string
  /** Once this file exists, the work that ends next is the last of its instance. */
  readonly closing: string
  readonly shortestMillis: number
  readonly longestMillis: number
  /** Of the machine. All versions behave the same. */
  readonly version: number
}

/** Failures that pass: the result is sent again until the store has taken it, or the work is stopped. */
const passing = new Set(["PersistenceFailed", "SequenceConflict", "LockingFailed", "ProcessingTimeout"])

export const shift = ({ log, closing, shortestMillis, longestMillis, version }: ShiftOptions) => {
  let runs = 0
  const work = (id: string, round: number, send: (event: typeof E.Type) => Effect.Effect<unknown, { readonly _tag: string }>) =>
    Effect.suspend(() => {
      const run = runs++
      const record = (phase: Phase) => {
        const line: WorkRecord = { pid: process.pid, run, id, round, phase, at: monotonicMillis() }
        appendFileSync(log, `${JSON.stringify(line)}\n`)
      }
      record("begin")
      return Effect.gen(function* () {
        const beats = Math.ceil((yield* Random.nextIntBetween(shortestMillis, longestMillis)) / beatMillis)
        for (let beat = 0; beat < beats; beat++) {
          yield* Effect.sleep(beatMillis)
          record("beat")
        }
        record("end")
        yield* Effect.retry(send(E.Done({ round, last: existsSync(closing) })), {
          while: ({ _tag }) => passing.has(_tag),
          schedule: Schedule.spaced("100 millis"),
        }).pipe(
          Effect.andThen(Effect.sync(() => record("done"))),
          // Another process has left the state meanwhile.
          Effect.ignore,
        )
      }).pipe(Effect.onInterrupt(() => Effect.sync(() => record("stopped"))))
    })

  return Machine.make({ name: "shift", version, state: S, event: E, initial: S.Ping({ round: 0 }) })
    .on(S.Ping, E.Done, [S.Pong, S.Finished], ({ state: { round }, event }) =>
      event.round !== round ? refuse("another round") : event.last ? S.Finished({ rounds: round + 1 }) : S.Pong({ round: round + 1 }),
    )
    .on(S.Pong, E.Done, [S.Ping, S.Finished], ({ state: { round }, event }) =>
      event.round !== round ? refuse("another round") : event.last ? S.Finished({ rounds: round + 1 }) : S.Ping({ round: round + 1 }),
    )
    .on(S.Ping, E.Skip, S.Pong, ({ state }) => S.Pong({ round: state.round + 1 }))
    .on(S.Pong, E.Skip, S.Ping, ({ state }) => S.Ping({ round: state.round + 1 }))
    .spawn([S.Ping, S.Pong], ({ state, self }) => work(self.id, state.round, (event) => self.send(event)))
    .final(S.Finished)
}
