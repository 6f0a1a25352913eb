/** Property: whatever is asked of a store, in whatever order, it answers as the memory store does. */
import { assert, layer } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Commit, InstanceKey } from "../src/contract/Commit.ts"
import { Journal } from "../src/contract/Journal.ts"
import type { LeaseResult } from "../src/contract/Leases.ts"
import { Leases } from "../src/contract/Leases.ts"
import { Timers } from "../src/contract/Timers.ts"
import * as MemoryStore from "../src/MemoryStore.ts"
import type { StoreLayer } from "./StoreHooks.ts"
import { commit, event, freshKey, snapshot } from "./samples.ts"

/** When every instance begins. */
const startedAt = 999

/** Small worlds meet more often: two instances, two timers, three dedupe ids, one lease. */
const id = Schema.Literals(["a", "b"])
const timerName = Schema.Literals(["t", "u"])
const small = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))

/** When the instance was started, by its commit: right, or off by little or much. */
const life = Schema.NullOr(Schema.Literals([startedAt, startedAt, startedAt - 1, startedAt + 1, startedAt + 5000]))

/** How often the events that a commit was decided on were rewritten, by that commit. */
const revision = Schema.Literals([0, 0, 1, 2])

/** What most commits are, of both instances at once: one event, and at most one timer that ends and one that begins. */
const Step = Schema.Struct({
  stale: Schema.Literals([0, 0, 0, -1]),
  life,
  revision,
  clear: Schema.Literals(["t", "u", ""]),
  set: Schema.NullOr(timerName),
  due: small(50),
})

const Operation = Schema.TaggedUnion({
  Commit: {
    id,
    /** How far off the expected sequence is: mostly right. */
    stale: Schema.Literals([0, 0, 0, 0, -1, 1]),
    life,
    revision,
    events: small(3),
    dedupe: Schema.NullOr(small(2)),
    snapshot: Schema.NullOr(small(5)),
    clear: Schema.Literals(["all", "t", "u", ""]),
    set: Schema.NullOr(timerName),
    due: small(50),
    token: Schema.NullOr(small(3)),
  },
  Steps: { steps: Schema.Array(Step) },
  SaveSnapshot: { id, sequence: small(8) },
  Prune: { id, through: small(8) },
  Fork: { id, through: small(8) },
  Hold: { id },
  Rewrite: { id, sequence: small(8) },
  /** A claim that is over at once, or lasts for longer than the test. */
  Claim: { limit: small(3), owner: Schema.Literals(["x", "y"]), claimMillis: Schema.Literals([0, 3_600_000]) },
  Complete: { id, name: timerName, entry: small(8) },
  Release: { id, name: timerName, entry: small(8), owner: Schema.Literals(["x", "y"]) },
  Bury: { id, name: timerName, entry: small(8) },
  Revive: { id, name: timerName, entry: small(8) },
  Acquire: {},
  GiveBack: { token: small(3) },
})
type Operation = typeof Operation.Type

export const storeAgreement = <R = never>(name: string, store: StoreLayer<R>, runs = 50): void =>
  layer(store, { excludeTestServices: true, timeout: "60 seconds" })(`${name}: agreement`, (it) => {
    it.effect.prop(
      "66-109 agrees with the memory store on any sequence of operations",
      [Arbitrary.array(Arbitrary.schema(Operation), { minLength: 10, maxLength: 40 })],
      ([operations]) =>
        Effect.gen(function* () {
          const { machine } = yield* freshKey
          const model = yield* MemoryStore.make
          const tested = yield* Effect.context<Journal | Timers | Leases>()
          for (const operation of operations) {
            const sequence = yield* Effect.provide(sequenceOf({ machine, id: "id" in operation ? operation.id : "a" }), model)
            const run = Effect.andThen(Effect.result(perform(machine, operation, sequence)), (answer) =>
              Effect.map(observe(machine), (state) => ({ operation, answer, state })),
            )
            assert.deepStrictEqual(yield* Effect.provide(run, tested), yield* Effect.provide(run, model))
          }
        }),
      { arbitrary: { runs } },
    )
  })

const sequenceOf = (key: InstanceKey) =>
  Effect.flatMap(Journal, (journal) =>
    Effect.map(journal.open(key), Option.match({ onNone: () => -1, onSome: ({ record }) => record.sequence })),
  )

/** All that can be seen of the machine's instances. Forks have names of their own, which are listed too. */
const observe = (machine: string) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const timers = yield* Timers
    // The time of a change of status is the clock's.
    const listed = (yield* journal.list({ machine }, 100)).instances.map(({ updatedAt: _, ...record }) => record)
    const instances = listed.toSorted((left, right) => (left.id < right.id ? -1 : 1))
    const opened = (yield* journal.openAll(instances)).map(({ record: _, ...rest }) => rest)
    const events = yield* Effect.forEach(instances, (key) => journal.events(key, 0, 1_000))
    const dead = (yield* timers.dead(1_000)).filter((timer) => timer.machine === machine)
    return {
      instances,
      opened,
      events,
      dead,
      next: Option.map(yield* timers.nextDue([machine]), (millis) => millis > 0),
      counts: yield* journal.count(machine),
    }
  })

const perform = (machine: string, operation: Operation, sequence: number) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const timers = yield* Timers
    const leases = yield* Leases
    const key = { machine, id: "id" in operation ? operation.id : "a" }
    switch (operation._tag) {
      case "Commit":
        return tagOf(yield* journal.commit([commitOf(key, operation, sequence)]))
      case "Steps": {
        const keys = [key, { machine, id: "b" }]
        return yield* Effect.forEach(operation.steps, (step) =>
          Effect.flatMap(Effect.forEach(keys, sequenceOf), (sequences) =>
            Effect.map(journal.commit(keys.map((one, index) => stepOf(one, step, sequences[index] ?? -1))), tagOf),
          ),
        )
      }
      case "SaveSnapshot":
        return yield* journal.saveSnapshot(key, snapshot(operation.sequence))
      case "Prune":
        return yield* journal.prune(key, operation.through)
      case "Fork": {
        const through = Math.min(operation.through, Math.max(sequence, 0))
        const to = commit({ machine, id: `${key.id}-${operation.through}` }, -1, { sequence: through, origin: undefined })
        return tagOf([yield* journal.fork(key, through, to)])
      }
      case "Hold":
        return yield* journal.setStatus({ ...key, sequence, status: "running" }, "held", "why")
      case "Rewrite":
        return yield* journal.rewrite(key, event(operation.sequence, { body: "rewritten" }))
      case "Claim":
        return yield* timers.claim({ ...operation, machines: [machine] })
      case "Complete":
        return yield* timers.complete({ ...key, ...operation, due: 0 })
      case "Release":
        return yield* timers.release({ ...key, ...operation, due: 0 }, operation.owner, 0)
      case "Bury":
        return yield* timers.bury({ ...key, ...operation, due: 0 }, "bad")
      case "Revive":
        return yield* timers.revive({ ...key, ...operation, due: 0 })
      case "Acquire":
        return tokenOf(yield* leases.acquire(machine, "owner", 3_600_000))
      case "GiveBack":
        return yield* leases.release({ name: machine, owner: "owner", token: operation.token, expiresAt: 0 })
    }
  })

const commitOf = (key: InstanceKey, operation: Extract<Operation, { readonly _tag: "Commit" }>, sequence: number): Commit => {
  const expected = Math.max(-1, sequence + operation.stale)
  const count = expected === -1 ? 0 : operation.events
  const events = Array.from({ length: count }, (_, index) =>
    event(expected + 1 + index, { dedupeId: index === 0 && operation.dedupe !== null ? `sent-${operation.dedupe}` : undefined }),
  )
  const reached = Math.max(0, expected + count)
  return commit(key, expected, {
    startedAt: expected === -1 ? undefined : (operation.life ?? undefined),
    revision: operation.revision,
    sequence: reached,
    events,
    snapshot: operation.snapshot === null ? undefined : snapshot(Math.max(0, reached - operation.snapshot)),
    clearTimers: operation.clear === "all" ? "all" : operation.clear === "" ? [] : [operation.clear],
    setTimers: operation.set === null ? [] : [{ name: operation.set, entry: reached, due: dueAt(operation.due) }],
    fence: operation.token === null ? undefined : { lease: key.machine, token: operation.token },
  })
}

/** An instance that does not exist begins with it. */
const stepOf = (key: InstanceKey, { stale, life, revision, clear, set, due }: typeof Step.Type, sequence: number): Commit => {
  const expected = sequence < 0 ? -1 : Math.max(0, sequence + (key.id === "a" ? stale : 0))
  const entry = expected + 1
  return commit(key, expected, {
    startedAt: expected === -1 ? undefined : (life ?? undefined),
    revision,
    at: expected === -1 ? startedAt : event(entry).at,
    clearTimers: clear === "" ? [] : [clear],
    setTimers: set === null ? [] : [{ name: set, entry, due: dueAt(due) }],
  })
}

/** Most deadlines have long passed, some will not come during the test. */
const dueAt = (due: number): number => (due < 40 ? due : 4_000_000_000_000 + due)

/** Failures are compared by kind: each database says it in its own words. */
const tagOf = (outcomes: ReadonlyArray<{ readonly _tag: string }>) =>
  outcomes.map((outcome) => (outcome._tag === "PersistenceFailed" ? outcome._tag : outcome))

/** The time of expiry is the store's. */
const tokenOf = (result: LeaseResult) => [result._tag, result._tag === "Acquired" ? result.lease.token : result.holder.token]
