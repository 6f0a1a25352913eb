/** The rules of durable deadlines, as tests. The numbers are those of the conformance list. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Commit, InstanceKey, TimerRecord } from "../src/contract/Commit.ts"
import { Journal } from "../src/contract/Journal.ts"
import { Leases } from "../src/contract/Leases.ts"
import type { ClaimRequest, MachineVersions } from "../src/contract/Timers.ts"
import { Timers } from "../src/contract/Timers.ts"
import type { StoreLayer } from "./StoreHooks.ts"
import { commit, conflict, event, freshKey, stored } from "./samples.ts"

export const timersConformance = <R = never>(name: string, store: StoreLayer<R>): void =>
  layer(store, { excludeTestServices: true, timeout: "60 seconds" })(`${name}: timers`, (it) => {
    it.effect("57 a deadline is one row per name, with the sequence it was set at", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        yield* set(key, [timer("idle", 0, 50), timer("state", 0, 20)])
        yield* journal.commit([commit(key, 0, { setTimers: [timer("idle", 1, 70)] })])
        assert.deepStrictEqual(yield* timersOf(key), [timer("state", 0, 20), timer("idle", 1, 70)])
      }),
    )

    it.effect("58 leaving clears the rows in the same commit: by name, or all that are not set anew", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        yield* set(key, [timer("a", 0, 10), timer("b", 0, 20), timer("c", 0, 30)])
        yield* journal.commit([commit(key, 0, { clearTimers: ["a", "missing"] })])
        assert.deepStrictEqual(yield* timersOf(key), [timer("b", 0, 20), timer("c", 0, 30)])
        yield* journal.commit([commit(key, 1, { clearTimers: "all", setTimers: [timer("b", 2, 25), timer("d", 2, 40)] })])
        assert.deepStrictEqual(yield* timersOf(key), [timer("b", 2, 25), timer("d", 2, 40)])
        yield* journal.commit([commit(key, 0, { clearTimers: "all" })])
        assert.strictEqual((yield* timersOf(key)).length, 2, "a refused commit clears nothing")
        yield* journal.commit([commit(key, 2, { clearTimers: ["b"], setTimers: [timer("b", 3, 26)] })])
        yield* journal.commit([commit(key, 3)])
        assert.deepStrictEqual(yield* timersOf(key), [timer("b", 3, 26), timer("d", 2, 40)])
        yield* journal.commit([commit(key, 4, { clearTimers: "all" })])
        assert.deepStrictEqual(yield* timersOf(key), [])
      }),
    )

    it.effect("58 of many alike each ends its own deadline and begins its own, and one that conflicts changes nothing", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { machine } = yield* freshKey
        const ids = ["plain", 'quo"ted', "back\\slash", "{1,2}", "NULL", "two words", " ", "é🚀"]
        const keys = ids.map((id) => ({ machine, id }))
        for (const key of keys) yield* set(key, [timer("t", 0, 10), timer("other", 0, 20)])
        const [first] = keys
        if (first !== undefined) yield* journal.commit([commit(first, 0)])
        const alike = (expected: number, fields: (index: number) => Partial<Commit>) =>
          journal.commit(
            keys.map((key, index) => {
              const at = 5_000 + index
              const events = [event(expected + 1, { at, tag: "(t)", body: "{}" })]
              return commit(key, expected, { at, events, clearTimers: ["t"], ...fields(index) })
            }),
          )
        const others = ids.slice(1)
        assert.deepStrictEqual(yield* alike(0, () => ({})), [conflict(1), ...others.map(() => stored)])
        for (const [index, key] of keys.entries()) {
          const left = index === 0 ? [timer("t", 0, 10), timer("other", 0, 20)] : [timer("other", 0, 20)]
          assert.deepStrictEqual(yield* timersOf(key), left, key.id)
        }
        const anew = yield* alike(1, (index) => ({ setTimers: [timer("t", 2, 100 + index)] }))
        assert.deepStrictEqual(
          anew,
          ids.map(() => stored),
        )
        for (const [index, key] of keys.entries()) {
          assert.deepStrictEqual(yield* timersOf(key), [timer("other", 0, 20), timer("t", 2, 100 + index)], key.id)
          const last = (yield* journal.events(key, 1, 10)).map(({ sequence, at, tag, body }) => ({ sequence, at, tag, body }))
          assert.deepStrictEqual(last, [{ sequence: 2, at: 5_000 + index, tag: "(t)", body: "{}" }])
          const { record } = Option.getOrThrow(yield* journal.open(key))
          assert.deepInclude(record, { sequence: 2, updatedAt: 5_000 + index, tag: "Moving", status: "running" })
        }
      }),
    )

    it.effect("61 of a hundred claimers each timer goes to one", () =>
      Effect.gen(function* () {
        const timers = yield* Timers
        const journal = yield* Journal
        const key = yield* freshKey
        const keys = Array.from({ length: 20 }, (_, index) => ({ ...key, id: `${key.id}-${index}` }))
        yield* journal.commit(keys.map((one, index) => commit(one, -1, { setTimers: [timer("t", 0, index)] })))
        const claims = Array.from({ length: 100 }, (_, node) => timers.claim(request(key, { owner: `node-${node}`, limit: 3 })))
        const claimed = (yield* Effect.all(claims, { concurrency: "unbounded" })).flat()
        assert.deepStrictEqual(claimed.map(({ id }) => id).sort(), keys.map(({ id }) => id).sort())
      }),
    )

    it.effect("135 timers of instances that a newer version wrote are left to nodes that know it", () =>
      Effect.gen(function* () {
        const timers = yield* Timers
        const journal = yield* Journal
        const key = yield* freshKey
        const { summary } = commit(key, -1)
        const write = (id: string, version: number, due: number) =>
          commit({ ...key, id }, -1, { summary: { ...summary, version }, setTimers: [timer("t", 0, due)] })
        yield* journal.commit([write("newer", 2, yield* hours(-2)), write("older", 1, yield* hours(-1))])
        const { machine } = key
        assert.strictEqual(yield* nextHour(machine, { [machine]: 1 }), -1)
        assert.strictEqual(yield* nextHour(machine, { [machine]: 2 }), -2)
        const ids = (versions: MachineVersions) =>
          Effect.map(timers.claim({ ...request(key, {}), versions }), (claimed) => claimed.map(({ id }) => id))
        assert.deepStrictEqual(yield* ids({ [machine]: 1 }), ["older"])
        assert.deepStrictEqual(yield* ids({ [machine]: 2, other: 1 }), ["newer"])
      }),
    )

    it.effect("91 tells which machines have overdue timers that are not served, but no dead ones", () =>
      Effect.gen(function* () {
        const timers = yield* Timers
        const [overdue, later, dead] = [yield* freshKey, yield* freshKey, yield* freshKey]
        yield* set(overdue, [timer("t", 0, yield* hours(-3)), timer("u", 0, yield* hours(-2))])
        yield* set(later, [timer("t", 0, yield* hours(-1))])
        yield* set(dead, [timer("t", 0, 10)])
        yield* timers.bury({ ...dead, ...timer("t", 0, 10) }, "it fails")
        const overdueMillis = 1.5 * hour
        const found = yield* timers.unserved([], overdueMillis)
        assert.deepStrictEqual(
          [overdue, later, dead].map(({ machine }) => found.filter((one) => one === machine).length),
          [1, 0, 0],
        )
        assert.isFalse((yield* timers.unserved([overdue.machine], overdueMillis)).includes(overdue.machine))
      }),
    )

    it.effect("62 a claim that is over can be claimed again, and attempts are counted", () =>
      Effect.gen(function* () {
        const timers = yield* Timers
        const key = yield* freshKey
        yield* set(key, [timer("t", 0, 10)])
        const claim = (claimMillis: number) =>
          Effect.map(timers.claim(request(key, { claimMillis })), (found) => found.map(({ attempts }) => attempts))
        assert.deepStrictEqual(yield* claim(100), [1])
        // Both clocks run on however busy the machine is.
        yield* Effect.sleep("150 millis")
        assert.deepStrictEqual(yield* claim(60_000), [2])
        assert.deepStrictEqual(yield* claim(60_000), [])
      }),
    )

    it.effect("63 completing an old entry leaves the new row", () =>
      Effect.gen(function* () {
        const timers = yield* Timers
        const journal = yield* Journal
        const key = yield* freshKey
        yield* set(key, [timer("t", 0, 10)])
        yield* timers.claim(request(key))
        yield* journal.commit([commit(key, 0, { setTimers: [timer("t", 1, 20)] })])
        assert.isFalse(yield* timers.complete({ ...key, ...timer("t", 0, 10) }))
        const again = yield* timers.claim(request(key))
        assert.deepStrictEqual(again, [{ ...key, ...timer("t", 1, 20), attempts: 1 }], "a new entry begins without claim")
        assert.isTrue(yield* timers.complete({ ...key, ...timer("t", 1, 20) }))
        assert.isFalse(yield* timers.complete({ ...key, ...timer("t", 1, 20) }))
      }),
    )

    it.effect("64 only the owner of a claim can give it back", () =>
      Effect.gen(function* () {
        const timers = yield* Timers
        const key = yield* freshKey
        const one = { ...key, ...timer("t", 0, 10) }
        yield* set(key, [timer("t", 0, 10)])
        yield* timers.claim(request(key, { owner: "mine" }))
        assert.isFalse(yield* timers.release(one, "yours", 0))
        assert.isTrue(Option.isNone(yield* timers.nextDue([key.machine])))
        assert.isTrue(yield* timers.release(one, "mine", 0))
        assert.isFalse(yield* timers.release(one, "mine", 0))
        assert.isTrue(Option.isSome(yield* timers.nextDue([key.machine])))
      }),
    )

    it.effect("a timer that is given back for some time is not claimed before, unless it is hastened", () =>
      Effect.gen(function* () {
        const timers = yield* Timers
        const key = yield* freshKey
        const one = { ...key, ...timer("t", 0, 10) }
        yield* set(key, [timer("t", 0, 10)])
        yield* timers.claim(request(key, { owner: "mine" }))
        assert.isTrue(yield* timers.release(one, "mine", 3_600_000))
        assert.deepStrictEqual(yield* timers.claim(request(key, { owner: "yours" })), [])
        assert.isTrue(Option.isNone(yield* timers.nextDue([key.machine])))
        assert.isTrue(yield* timers.fireNow(one))
        assert.deepStrictEqual(yield* timers.claim(request(key, { owner: "yours" })), [{ ...one, attempts: 2 }])
      }),
    )

    it.effect("86 only what is due is claimed, oldest first, at most the limit", () =>
      Effect.gen(function* () {
        const timers = yield* Timers
        const key = yield* freshKey
        const [a, b, c, d] = [yield* hours(-4), yield* hours(-3), yield* hours(-2), yield* hours(2)]
        yield* set(key, [timer("c", 0, c), timer("a", 0, a), timer("d", 0, d), timer("b", 0, b)])
        const names = (limit: number) =>
          Effect.gen(function* () {
            const found = yield* timers.claim(request(key, { limit }))
            for (const claimed of found) yield* timers.complete(claimed)
            return found.map(({ name: one }) => one)
          })
        assert.strictEqual(yield* nextHour(key.machine), -4)
        assert.deepStrictEqual(yield* names(2), ["a", "b"])
        assert.deepStrictEqual(yield* names(2), ["c"])
        assert.deepStrictEqual(yield* names(2), [])
        assert.strictEqual(yield* nextHour(key.machine), 2)
      }),
    )

    it.effect("86 what has been due for less than the grace is left to the process that has it in memory", () =>
      Effect.gen(function* () {
        const timers = yield* Timers
        const key = yield* freshKey
        yield* set(key, [timer("t", 0, yield* hours(-1))])
        assert.deepStrictEqual(yield* timers.claim(request(key, { graceMillis: 2 * hour })), [])
        assert.strictEqual((yield* timers.claim(request(key, { graceMillis: hour / 2 }))).length, 1)
      }),
    )

    it.effect("60 a timer is not claimed while an earlier one of its instance is claimed elsewhere", () =>
      Effect.gen(function* () {
        const timers = yield* Timers
        const key = yield* freshKey
        const other = { ...key, id: `${key.id}-other` }
        yield* set(key, [timer("note", 0, 10)])
        yield* set(other, [timer("note", 0, 30)])
        const [note] = yield* timers.claim(request(key, { owner: "first", limit: 1 }))
        assert.deepStrictEqual(note, { ...key, ...timer("note", 0, 10), attempts: 1 })
        yield* Effect.flatMap(Journal, (journal) =>
          journal.commit([commit(key, 0, { setTimers: [timer("back", 1, 20), timer("far", 1, 25)] })]),
        )
        const named = (owner: string) =>
          Effect.map(timers.claim(request(key, { owner })), (claimed) => claimed.map(({ id, name: one }) => [id, one]))
        assert.deepStrictEqual(yield* named("second"), [[other.id, "note"]])
        assert.deepStrictEqual(yield* named("first"), [], "also not by the node that is firing the earlier one")
        assert.isTrue(Option.isNone(yield* timers.nextDue([key.machine])), "a sweeper does not wait for what it cannot claim")
        yield* timers.release({ ...key, ...timer("note", 0, 10) }, "first", 0)
        assert.deepStrictEqual(yield* named("second"), [
          [key.id, "note"],
          [key.id, "back"],
          [key.id, "far"],
        ])
        yield* timers.release({ ...key, ...timer("back", 1, 20) }, "second", 0)
        assert.deepStrictEqual(yield* named("first"), [])
        yield* timers.bury({ ...key, ...timer("note", 0, 10) }, "it fails")
        assert.deepStrictEqual(yield* named("first"), [[key.id, "back"]], "what was given up blocks nothing")
      }),
    )

    it.effect("60 claimers that race keep the order of each instance", () =>
      Effect.gen(function* () {
        const timers = yield* Timers
        const journal = yield* Journal
        const { machine } = yield* freshKey
        const keys = Array.from({ length: 30 }, (_, index) => ({ machine, id: `i-${index}` }))
        const both = (index: number) => [timer("note", 0, 100 + index), timer("back", 0, 110 + index)]
        yield* journal.commit(keys.map((key, index) => commit(key, -1, { setTimers: both(index) })))
        const claims = Array.from({ length: 40 }, (_, node) =>
          timers.claim(request(keys[0] as InstanceKey, { owner: `node-${node}`, limit: 7 })),
        )
        for (const claimed of yield* Effect.all(claims, { concurrency: "unbounded" })) {
          const notes = new Set(claimed.filter(({ name: one }) => one === "note").map(({ id }) => id))
          for (const { id, name: one } of claimed)
            assert.isTrue(one === "note" || notes.has(id), `${id} has lost its note to another claimer`)
        }
      }),
    )

    it.effect("62 the claims of a node end with its lease", () =>
      Effect.gen(function* () {
        const timers = yield* Timers
        const leases = yield* Leases
        const key = yield* freshKey
        yield* set(key, [timer("t", 0, 10)])
        const lease = `node/${key.machine}`
        const hold = (owner: string) =>
          Effect.flatMap(leases.acquire(lease, owner, 60_000), (result) =>
            result._tag === "Acquired" ? Effect.succeed(result.lease) : Effect.die(new Error("the lease is held")),
          )
        const claim = (owner: string, token: number | undefined) =>
          Effect.map(timers.claim(request(key, { owner, fence: token === undefined ? undefined : { lease, token } })), (claimed) =>
            claimed.map(({ attempts }) => attempts),
          )
        const first = yield* hold("first")
        assert.deepStrictEqual(yield* claim("first", first.token), [1])
        assert.deepStrictEqual(yield* claim("second", undefined), [], "the node is alive")
        assert.isTrue(Option.isNone(yield* timers.nextDue([key.machine])))
        yield* leases.release(first)
        assert.isTrue(Option.isSome(yield* timers.nextDue([key.machine])))
        const second = yield* hold("second")
        assert.deepStrictEqual(yield* claim("second", second.token), [2], "its lease is over")
        assert.deepStrictEqual(yield* claim("third", undefined), [])
        yield* leases.release(second)
        yield* hold("third")
        assert.deepStrictEqual(yield* claim("third", undefined), [3], "its lease has changed hands")
        assert.deepStrictEqual(yield* claim("fourth", undefined), [], "a claim without a lease lasts for its time")
      }),
    )

    it.effect("89 a timer that is given up is listed as dead, is not claimed, and can be revived", () =>
      Effect.gen(function* () {
        const timers = yield* Timers
        const key = yield* freshKey
        const one = { ...key, ...timer("t", 0, 10) }
        yield* set(key, [timer("t", 0, 10)])
        yield* timers.claim(request(key))
        assert.isFalse(yield* timers.bury({ ...one, entry: 7 }, "another entry"))
        assert.isTrue(yield* timers.bury(one, "it keeps failing"))
        assert.isFalse(yield* timers.bury(one, "again"))
        const dead = Effect.map(timers.dead(1_000), (found) => found.filter(({ machine }) => machine === key.machine))
        assert.deepStrictEqual(yield* dead, [{ ...one, attempts: 1, problem: "it keeps failing" }])
        assert.deepStrictEqual(yield* timers.claim(request(key)), [])
        assert.isTrue(Option.isNone(yield* timers.nextDue([key.machine])))
        assert.deepStrictEqual(yield* timersOf(key), [], "recovery does not arm what was given up")
        assert.isTrue(yield* timers.revive(one))
        assert.isFalse(yield* timers.revive(one))
        assert.deepStrictEqual(yield* dead, [])
        assert.deepStrictEqual(yield* timers.claim(request(key)), [{ ...one, attempts: 1 }])
      }),
    )

    it.effect("a timer that is made due now is claimed at once, with its entry, unless it was replaced or given up", () =>
      Effect.gen(function* () {
        const timers = yield* Timers
        const key = yield* freshKey
        const { clock } = yield* Journal
        const far = timer("far", 0, (yield* clock) + hour)
        yield* set(key, [far])
        assert.deepStrictEqual(yield* timers.claim(request(key)), [])
        assert.isFalse(yield* timers.fireNow({ ...key, ...far, entry: 7 }))
        assert.isFalse(yield* timers.fireNow({ ...key, ...far, name: "none" }))
        assert.isTrue(yield* timers.fireNow({ ...key, ...far }))
        const [claimed] = yield* timers.claim(request(key))
        assert.deepInclude(claimed, { ...key, name: "far", entry: 0, attempts: 1 })
        assert.isAtMost(claimed?.due ?? 0, yield* clock)
        yield* timers.bury({ ...key, ...far }, "it keeps failing")
        assert.isFalse(yield* timers.fireNow({ ...key, ...far }))
      }),
    )

    it.effect("92 a timer is claimed with the instance it belongs to, and only for machines asked for", () =>
      Effect.gen(function* () {
        const timers = yield* Timers
        const key = yield* freshKey
        const sameId = { machine: `${key.machine}Other`, id: key.id }
        const sameMachine = { machine: key.machine, id: `${key.id}-other` }
        yield* set(key, [timer("t", 0, 10)])
        yield* set(sameId, [timer("t", 0, 20)])
        yield* set(sameMachine, [timer("t", 0, 30)])
        assert.deepStrictEqual(yield* timers.claim(request(key, { machines: [] })), [])
        assert.deepStrictEqual(yield* timers.claim(request(sameId)), [{ ...sameId, ...timer("t", 0, 20), attempts: 1 }])
        assert.isTrue(yield* timers.complete({ ...key, ...timer("t", 0, 10) }))
        assert.deepStrictEqual(yield* timers.claim(request(key)), [{ ...sameMachine, ...timer("t", 0, 30), attempts: 1 }])
      }),
    )
  })

const hour = 3_600_000

/** This many hours from now, by the store's clock. */
const hours = (count: number) => Effect.flatMap(Journal, ({ clock }) => Effect.map(clock, (now) => now + count * hour))

/** In how many hours the next timer is due. */
const nextHour = (machine: string, versions?: MachineVersions) =>
  Effect.flatMap(Timers, (timers) =>
    Effect.map(timers.nextDue([machine], versions), (next) => Math.round(Option.getOrElse(next, () => Number.NaN) / hour)),
  )

const timer = (name: string, entry: number, due: number): TimerRecord => ({ name, entry, due })

const request = (key: InstanceKey, fields: Partial<ClaimRequest> = {}): ClaimRequest => ({
  machines: [key.machine],
  limit: 10,
  owner: "node",
  claimMillis: 60_000,
  ...fields,
})

const set = (key: InstanceKey, setTimers: ReadonlyArray<TimerRecord>) =>
  Effect.flatMap(Journal, (journal) => journal.commit([commit(key, -1, { setTimers })]))

const timersOf = (key: InstanceKey) =>
  Effect.flatMap(Journal, (journal) => Effect.map(journal.open(key), (opened) => Option.getOrThrow(opened).timers))
