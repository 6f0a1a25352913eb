/** The rules of the journal, as tests. The numbers are those of the conformance list. */
import { PersistenceFailed } from "@detent/machine"
import { assert, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { InstanceKey } from "../src/contract/Commit.ts"
import { Journal } from "../src/contract/Journal.ts"
import { registerAtomicity } from "./atomicityConformance.ts"
import type { StoreHooks, StoreLayer } from "./StoreHooks.ts"
import { commit, conflict, crowdOf, event, freshKey, shapes, snapshot, step, stored } from "./samples.ts"

export const journalConformance = <R = never>(name: string, store: StoreLayer<R>, hooks: StoreHooks<R> = {}): void =>
  layer(store, { excludeTestServices: true, timeout: "60 seconds" })(`${name}: journal`, (it) => {
    it.effect("66 appending at the expected sequence moves the instance on by one", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        assert.deepStrictEqual(yield* journal.commit([commit(key, -1)]), [stored])
        assert.deepStrictEqual(yield* journal.commit([commit(key, 0)]), [stored])
        assert.deepStrictEqual(yield* journal.commit([commit(key, 1, { sequence: 3, events: [event(2), event(3)] })]), [stored])
        const opened = Option.getOrThrow(yield* journal.open(key))
        assert.strictEqual(opened.record.sequence, 3)
        assert.strictEqual(opened.origin, `{"_tag":"Begun"}`)
        assert.deepStrictEqual(yield* journal.events(key, 0, 10), [event(1), event(2), event(3)])
      }),
    )

    it.effect("67 sequences are per instance, and two machines may share an id", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        const other = { machine: `${key.machine}Other`, id: key.id }
        yield* journal.commit([commit(key, -1), commit(other, -1)])
        yield* journal.commit([commit(key, 0)])
        assert.deepStrictEqual(
          (yield* journal.openAll([other, key])).map(({ record }) => [record.machine, record.sequence]),
          [
            [other.machine, 0],
            [key.machine, 1],
          ],
        )
        assert.deepStrictEqual(yield* journal.events(other, 0, 10), [])
      }),
    )

    it.effect("67 a key that no store can keep is the key of no instance", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        const similar = { machine: key.machine, id: `${key.id}\ufffd` }
        yield* journal.commit([commit(key, -1), commit(similar, -1)])
        for (const end of ["\u0000", "\ud800"]) {
          const odd = { machine: key.machine, id: `${key.id}${end}` }
          assert.isTrue(Option.isNone(yield* journal.open(odd)))
          assert.deepStrictEqual(yield* journal.events(odd, 0, 10), [])
          assert.deepStrictEqual(yield* journal.standings([odd]), [undefined])
          assert.deepStrictEqual(
            (yield* journal.standings([odd, key])).map((standing) => standing?.sequence),
            [undefined, 0],
          )
          assert.deepStrictEqual(yield* journal.openAll([odd]), [])
          assert.deepStrictEqual(
            (yield* journal.openAll([odd, key])).map(({ record }) => record.id),
            [key.id],
          )
        }
      }),
    )

    it.effect("68 events come ascending, after a sequence number and in pages", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        yield* journal.commit([commit(key, -1)])
        yield* journal.commit([commit(key, 0, { sequence: 25, events: Array.from({ length: 25 }, (_, index) => event(index + 1)) })])
        const first = yield* journal.events(key, 0, 10)
        const second = yield* journal.events(key, 10, 10)
        const third = yield* journal.events(key, 20, 10)
        assert.deepStrictEqual([first.length, second.length, third.length], [10, 10, 5])
        assert.deepStrictEqual(
          [...first, ...second, ...third].map(({ sequence }) => sequence),
          Array.from({ length: 25 }, (_, index) => index + 1),
        )
      }),
    )

    it.effect("68 the tails of several instances come together: each one's events after its snapshot, ascending", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const [plain, saved, unknown] = [yield* freshKey, yield* freshKey, yield* freshKey]
        for (const key of [plain, saved]) {
          yield* journal.commit([commit(key, -1)])
          for (const sequence of [0, 1, 2]) yield* journal.commit([commit(key, sequence)])
        }
        yield* journal.saveSnapshot(saved, snapshot(2))
        const tails = yield* journal.tails([saved, unknown, plain])
        const of = (id: string) => tails.filter((one) => one.id === id)
        assert.deepStrictEqual(
          [of(plain.id), of(saved.id), of(unknown.id)].map((tail) => tail.map(({ sequence }) => sequence)),
          [[1, 2, 3], [3], []],
        )
        assert.deepStrictEqual(
          of(plain.id).map(({ body, tag }) => [body, tag]),
          (yield* journal.events(plain, 0, 10)).map(({ body, tag }) => [body, tag]),
        )
        assert.deepStrictEqual(yield* journal.tails([]), [])
      }),
    )

    it.effect("77 the events of a life are not those of another life under the same id", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        yield* journal.commit([commit(key, -1)])
        yield* journal.commit([commit(key, 0, { events: [event(1)] })])
        const { record } = Option.getOrThrow(yield* journal.open(key))
        assert.deepStrictEqual(yield* journal.events(record, 0, 10), [event(1)])
        const former = { ...key, startedAt: record.startedAt - 1 }
        assert.deepStrictEqual(yield* journal.events(former, 0, 10), [])
        assert.deepStrictEqual(yield* journal.tails([former]), [])
        assert.deepStrictEqual(yield* journal.tails([record]), [{ ...event(1), ...key }])
        assert.isFalse(yield* journal.saveSnapshot(former, snapshot(1)))
        assert.isTrue(yield* journal.saveSnapshot(record, snapshot(1)))
      }),
    )

    it.effect.each(shapes)("149 a commit for a life that was removed stores nothing in the life after it: %s", ([, fields]) =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { machine } = yield* freshKey
        const keys = ["a", "b", "c"].map((id) => ({ machine, id }))
        const [a, b, c] = keys as [InstanceKey, InstanceKey, InstanceKey]
        yield* journal.commit(keys.map((key) => commit(key, -1, { at: 2000 })))
        const step = (key: InstanceKey, expected: number, startedAt: number) =>
          commit(key, expected, { ...fields(expected + 1), startedAt })
        assert.deepStrictEqual(yield* journal.commit([step(a, 0, 1000)]), [conflict(-1)])
        assert.deepStrictEqual(yield* journal.commit([step(a, 0, 2000), step(b, 0, 1000), step(c, 0, 2000)]), [
          stored,
          conflict(-1),
          stored,
        ])
        assert.deepStrictEqual(yield* journal.commit([step(a, 1, 2000)]), [stored])
        const reached = (yield* journal.openAll(keys)).map(({ record }) => record.sequence)
        assert.deepStrictEqual(reached, [2, 0, 1])
        assert.deepStrictEqual(yield* journal.events(b, 0, 10), [])
      }),
    )

    it.effect("69 an unknown instance is empty, and writing to it tells that it does not exist", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        assert.isTrue(Option.isNone(yield* journal.open(key)))
        assert.deepStrictEqual(yield* journal.openAll([key]), [])
        assert.deepStrictEqual(yield* journal.events(key, 0, 10), [])
        assert.isTrue(Option.isNone(yield* journal.findDuplicate(key, "sent-1")))
        assert.deepStrictEqual(yield* journal.commit([commit(key, 4)]), [conflict(-1)])
        assert.isFalse(yield* journal.saveSnapshot(key, snapshot(0)))
        assert.strictEqual(yield* journal.prune(key, 5), 0)
        assert.isFalse(yield* journal.setStatus({ ...key, sequence: 0, status: "running" }, "held", "unknown"))
        assert.isFalse(yield* journal.rewrite(key, event(1)))
        assert.strictEqual((yield* journal.count(key.machine)).size, 0)
      }),
    )

    it.effect("70 after pruning behind a snapshot numbering continues", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        yield* journal.commit([commit(key, -1)])
        for (const expected of [0, 1, 2, 3]) yield* journal.commit([commit(key, expected)])
        assert.strictEqual(yield* journal.prune(key, 4), 0, "nothing may go without a snapshot")
        yield* journal.saveSnapshot(key, snapshot(3))
        assert.strictEqual(yield* journal.prune(key, 99), 3, "only what the snapshot covers may go")
        assert.deepStrictEqual(yield* journal.events(key, 0, 10), [event(4)])
        assert.deepStrictEqual(yield* journal.commit([commit(key, 4)]), [stored])
        const opened = Option.getOrThrow(yield* journal.open(key))
        assert.deepStrictEqual([opened.record.sequence, opened.origin, opened.snapshot], [5, undefined, snapshot(3)])
      }),
    )

    it.effect("70 and 79 pruning keeps what was sent under an id, and forgets what the machine sent itself", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        const sent = event(2, { dedupeId: "sent" })
        const raised = event(3, { dedupeId: "@raised/2/0" })
        yield* journal.commit([commit(key, -1)])
        for (const [expected, one] of [event(1), sent, raised, event(4), event(5)].entries())
          yield* journal.commit([commit(key, expected, { events: [one] })])
        yield* journal.saveSnapshot(key, snapshot(5))
        assert.strictEqual(yield* journal.prune(key, 5, 3), 2, "what comes before is left alone")
        assert.deepStrictEqual(yield* journal.events(key, 0, 10), [event(1), sent, raised])
        assert.strictEqual(yield* journal.prune(key, 5), 2)
        assert.deepStrictEqual(yield* journal.events(key, 0, 10), [sent])
        assert.deepStrictEqual(yield* journal.findDuplicate(key, "sent"), Option.some(sent))
        assert.isTrue(Option.isNone(yield* journal.findDuplicate(key, "@raised/2/0")))
        const again = commit(key, 5, { events: [event(6, { dedupeId: "sent" })] })
        assert.deepStrictEqual(yield* journal.commit([again]), [{ _tag: "Duplicate", dedupeId: "sent", sequence: 2 }])
        const fresh = commit(key, 5, { events: [event(6, { dedupeId: "@raised/2/0" })] })
        assert.deepStrictEqual(yield* journal.commit([fresh]), [stored])
      }),
    )

    it.effect("71 texts of every kind come back as they were", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { machine, id } = yield* freshKey
        const key = { machine, id: `${id} 'quoted" \\ {} $1 ?1 é 漢 🎈` }
        const body = JSON.stringify({
          text: `'"\\\n\t\u0000\u001f ; -- $1 é 漢 🎈`,
          nested: { list: [1, 2.5, null, true] },
          long: "x".repeat(20_000),
        })
        yield* journal.commit([commit(key, -1, { origin: body, snapshot: snapshot(0, { body }) })])
        const sent = event(1, { tag: "(idle 漢)", body, dedupeId: "a'b\"c" })
        assert.deepStrictEqual(yield* journal.commit([commit(key, 0, { events: [sent] })]), [stored])
        const opened = Option.getOrThrow(yield* journal.open(key))
        assert.deepStrictEqual([opened.record.id, opened.origin, opened.snapshot?.body], [key.id, body, body])
        assert.deepStrictEqual(yield* journal.events(key, 0, 10), [sent])
        assert.deepStrictEqual(yield* journal.findDuplicate(key, "a'b\"c"), Option.some(sent))
      }),
    )

    it.effect("74 the latest snapshot replaces, an older one never does, and none is ahead of the journal", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        yield* journal.commit([commit(key, -1, { snapshot: snapshot(0) })])
        for (const expected of [0, 1, 2]) yield* journal.commit([commit(key, expected)])
        assert.isTrue(yield* journal.saveSnapshot(key, snapshot(2)))
        assert.isFalse(yield* journal.saveSnapshot(key, snapshot(1)))
        assert.isFalse(yield* journal.saveSnapshot(key, snapshot(4)))
        assert.isTrue(yield* journal.saveSnapshot(key, snapshot(2, { version: 2 })))
        assert.deepStrictEqual(yield* journal.commit([commit(key, 3, { snapshot: snapshot(1) })]), [stored])
        assert.deepStrictEqual(Option.getOrThrow(yield* journal.open(key)).snapshot, snapshot(2, { version: 2 }))
      }),
    )

    it.effect("79 the same dedupe id is answered with where it is journaled, and nothing is added", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        const other = { ...key, id: `${key.id}-other` }
        const sent = event(1, { dedupeId: "sent-1" })
        yield* journal.commit([commit(key, -1), commit(other, -1)])
        yield* journal.commit([commit(key, 0, { events: [sent] })])
        const again = commit(key, 1, { sequence: 3, events: [event(2), event(3, { dedupeId: "sent-1" })] })
        const duplicate = { _tag: "Duplicate", dedupeId: "sent-1", sequence: 1 } as const
        assert.deepStrictEqual(yield* journal.commit([again, commit(other, 0, { events: [sent] })]), [duplicate, stored])
        assert.deepStrictEqual(yield* journal.commit([commit(key, 0, { events: [sent] })]), [duplicate], "also when it is stale")
        assert.deepStrictEqual(yield* journal.events(key, 0, 10), [sent])
        assert.deepStrictEqual(yield* journal.findDuplicate(key, "sent-1"), Option.some(sent))
      }),
    )

    it.effect("79 an event that a node sends again is found by the id that the node made, however it is stored", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        const { machine, id } = key
        const others = ["short", "full"].map((name) => ({ machine, id: `${id}-${name}` }))
        yield* journal.commit([key, ...others].map((one) => commit(one, -1)))
        const idOf = (number: number) => `@delivery/${id}/${number}`
        const first = (sequence: number) => event(sequence, { dedupeId: idOf(sequence), isFirst: true })
        const again = (sequence: number, number: number) => event(sequence, { dedupeId: idOf(number) })
        const timer = { setTimers: [{ name: "t", entry: 1, due: 10 }] }
        yield* journal.commit([commit(key, 0, { sequence: 2, events: [first(1), first(2)] })])
        yield* journal.commit([commit(key, 2, { events: [first(3)], ...timer })])
        assert.deepStrictEqual(yield* journal.events(key, 0, 10), [again(1, 1), again(2, 2), again(3, 3)])
        for (const [expected, number] of [1, 2, 3].entries()) {
          const duplicate = { _tag: "Duplicate", dedupeId: idOf(number), sequence: number } as const
          const repeated = { sequence: 5, events: [event(4), again(5, number)] }
          const batch = (fields: object) => [
            commit(key, 3, { ...repeated, ...fields }),
            ...others.map((one) => commit(one, 2 * expected + ("setTimers" in fields ? 1 : 0))),
          ]
          assert.deepStrictEqual(yield* journal.commit(batch({})), [duplicate, stored, stored])
          assert.deepStrictEqual(yield* journal.commit(batch(timer)), [duplicate, stored, stored])
          assert.deepStrictEqual(yield* journal.findDuplicate(key, idOf(number)), Option.some(again(number, number)))
        }
        assert.isTrue(Option.isNone(yield* journal.findDuplicate(key, idOf(4))))
        assert.deepStrictEqual(yield* journal.commit([commit(key, 3, { events: [again(4, 4)] })]), [stored])
      }),
    )

    it.effect("70 and 79 pruning keeps what a node may send again", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        const dedupeId = `@delivery/${key.id}/1`
        const sent = event(2, { at: yield* Clock.currentTimeMillis, dedupeId })
        yield* journal.commit([commit(key, -1)])
        yield* journal.commit([commit(key, 0, { sequence: 3, events: [event(1), { ...sent, isFirst: true }, event(3)] })])
        yield* journal.saveSnapshot(key, snapshot(3))
        yield* journal.prune(key, 3)
        assert.deepStrictEqual(yield* journal.events(key, 0, 10), [sent])
        const again = commit(key, 3, { events: [{ ...sent, sequence: 4 }] })
        assert.deepStrictEqual(yield* journal.commit([again]), [{ _tag: "Duplicate", dedupeId, sequence: 2 }])
      }),
    )

    it.effect("79 85 in a batch of several events each, an id that is taken refuses its own commit, whichever event has it", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { machine, id } = yield* freshKey
        const keys = ["first", "later", "none", "fresh"].map((name) => ({ machine, id: `${id}-${name}` }))
        yield* journal.commit(keys.map((key) => commit(key, -1)))
        const sent = (key: InstanceKey, expected: number, ...ids: ReadonlyArray<string | undefined>) =>
          commit(key, expected, {
            sequence: expected + ids.length,
            events: ids.map((dedupeId, index) => event(expected + 1 + index, { dedupeId })),
          })
        const both = keys.map((key) => sent(key, 0, "a", "b"))
        assert.deepStrictEqual(yield* journal.commit(both), [stored, stored, stored, stored])
        const [first, later, none, fresh] = keys as [InstanceKey, InstanceKey, InstanceKey, InstanceKey]
        const again = [
          sent(first, 2, "b", "c"),
          sent(later, 2, "c", undefined, "a"),
          sent(none, 2, undefined, undefined),
          sent(fresh, 2, "c", "d"),
        ]
        assert.deepStrictEqual(yield* journal.commit(again), [
          { _tag: "Duplicate", dedupeId: "b", sequence: 2 },
          { _tag: "Duplicate", dedupeId: "a", sequence: 1 },
          stored,
          stored,
        ])
        const idsOf = (key: InstanceKey) => Effect.map(journal.events(key, 0, 10), (events) => events.map(({ dedupeId }) => dedupeId))
        assert.deepStrictEqual(yield* Effect.forEach(keys, idsOf), [
          ["a", "b"],
          ["a", "b"],
          ["a", "b", undefined, undefined],
          ["a", "b", "c", "d"],
        ])
      }),
    )

    it.effect("81 a stale expected sequence is a conflict that names the true one", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        yield* journal.commit([commit(key, -1)])
        for (const expected of [0, 1]) yield* journal.commit([commit(key, expected)])
        assert.deepStrictEqual(yield* journal.commit([commit(key, 0)]), [conflict(2)])
        assert.deepStrictEqual(yield* journal.commit([commit(key, 7)]), [conflict(2)])
        assert.deepStrictEqual(yield* journal.commit([commit(key, -1)]), [conflict(2)])
        assert.strictEqual((yield* journal.events(key, 0, 10)).length, 2)
      }),
    )

    it.effect("82 84 of a hundred racers one wins, at creation and after", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        for (const expected of [-1, 0, 1]) {
          const racers = Array.from({ length: 100 }, (_, racer) => journal.commit([commit(key, expected, { at: racer })]))
          const outcomes = (yield* Effect.all(racers, { concurrency: "unbounded" })).flat()
          assert.strictEqual(outcomes.filter(({ _tag }) => _tag === "Stored").length, 1)
          assert.deepStrictEqual(
            outcomes.filter(({ _tag }) => _tag !== "Stored"),
            Array.from({ length: 99 }, () => conflict(expected + 1)),
          )
        }
        assert.deepStrictEqual(
          (yield* journal.events(key, 0, 10)).map(({ sequence }) => sequence),
          [1, 2],
        )
      }),
    )

    it.effect("85 in a batch one conflict fails only its own instance", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        const keys = Array.from({ length: 50 }, (_, index) => ({ ...key, id: `${key.id}-${index}` }))
        yield* journal.commit(keys.map((one) => commit(one, -1)))
        const outcomes = yield* journal.commit(keys.map((one, index) => commit(one, index % 10 === 3 ? 5 : 0)))
        assert.deepStrictEqual(
          outcomes,
          keys.map((_, index) => (index % 10 === 3 ? conflict(0) : stored)),
        )
        assert.deepStrictEqual(
          (yield* journal.openAll(keys)).map(({ record }) => record.sequence),
          keys.map((_, index) => (index % 10 === 3 ? 0 : 1)),
        )
      }),
    )

    it.effect("85 149 in a crowd of one machine, a commit that is stale or for another life fails alone", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { machine } = yield* freshKey
        const keys = crowdOf(machine)
        yield* journal.commit(keys.map((key) => commit(key, -1, { at: 2000 })))
        const isStale = (index: number) => index % 10 === 3
        const isForAnother = (index: number) => index % 10 === 7
        const outcomes = yield* journal.commit(
          keys.map((key, index) => step(key, isStale(index) ? 5 : 0, { startedAt: isForAnother(index) ? 1000 : 2000 })),
        )
        assert.deepStrictEqual(
          outcomes,
          keys.map((_, index) => (isStale(index) ? conflict(0) : isForAnother(index) ? conflict(-1) : stored)),
        )
        assert.deepStrictEqual(
          (yield* journal.openAll(keys)).map(({ record }) => [record.id, record.sequence]),
          keys.map(({ id }, index) => [id, isStale(index) || isForAnother(index) ? 0 : 1]),
        )
        assert.deepStrictEqual(
          (yield* Effect.forEach(keys, (key) => journal.events(key, 0, 10))).flat(),
          keys.flatMap((_, index) => (isStale(index) || isForAnother(index) ? [] : [event(1)])),
        )
      }),
    )

    it.effect.each(["", "\u001f"])("71 in a crowd of one machine, texts of every kind come back as they were: %j", (mark) =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { machine } = yield* freshKey
        const difficult = `'quoted" \\ {},NULL $1 ?1 \t\n é 漢 🎈`
        const keys = crowdOf(machine).map(({ id }) => ({ machine, id: `${id} ${difficult}${mark}` }))
        yield* journal.commit(keys.map((key) => commit(key, -1, { at: 2000 })))
        const sent = keys.map((_, index) =>
          event(1, {
            tag: index === 0 ? "" : `(${difficult})`,
            body: JSON.stringify({ text: `${difficult}\u0000\u001f`, index, long: "x".repeat(index * 100) }),
          }),
        )
        const tag = `${difficult}${mark}`
        const summary = { tag, status: "running", reason: undefined, version: 1, needsOwner: false, owner: undefined, owes: false } as const
        const outcomes = yield* journal.commit(
          keys.map((key, index) => step(key, 0, { startedAt: 2000, summary, events: sent.slice(index, index + 1) })),
        )
        assert.isTrue(outcomes.every(({ _tag }) => _tag === "Stored"))
        assert.deepStrictEqual((yield* Effect.forEach(keys, (key) => journal.events(key, 0, 10))).flat(), sent)
        assert.deepStrictEqual(
          (yield* journal.openAll(keys)).map(({ record }) => [record.id, record.tag, record.sequence, record.updatedAt]),
          keys.map(({ id }) => [id, tag, 1, 1001]),
        )
      }),
    )

    it.effect("85 batches that meet in different orders do not block each other", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        const keys = Array.from({ length: 40 }, (_, index) => ({ ...key, id: `${key.id}-${index}` }))
        yield* journal.commit(keys.map((one) => commit(one, -1)))
        const batches = Array.from({ length: 10 }, (_, batch) =>
          journal.commit((batch % 2 === 0 ? keys : keys.toReversed()).map((one) => commit(one, 0))),
        )
        const outcomes = (yield* Effect.all(batches, { concurrency: "unbounded" })).flat()
        assert.strictEqual(outcomes.filter(({ _tag }) => _tag === "Stored").length, 40)
      }),
    )

    it.effect("85 a malformed commit fails alone, as a typed failure", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        const other = { ...key, id: `${key.id}-other` }
        yield* journal.commit([commit(key, -1)])
        const twice = [event(1, { dedupeId: "twice" }), event(2, { dedupeId: "twice" })]
        const [malformed, good] = yield* journal.commit([commit(key, 0, { sequence: 2, events: twice }), commit(other, -1)])
        assert.instanceOf(malformed, PersistenceFailed)
        assert.deepStrictEqual(good, stored)
        const [behind, repeated, kept] = yield* journal.commit([commit(key, 0, { events: [event(0)] }), commit(other, 0), commit(other, 0)])
        assert.instanceOf(behind, PersistenceFailed)
        assert.deepStrictEqual(repeated, stored)
        assert.instanceOf(kept, PersistenceFailed)
        assert.strictEqual(Option.getOrThrow(yield* journal.open(key)).record.sequence, 0)
      }),
    )

    it.effect("17 67 names that a database would change are refused with the problem, and harm no other", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        const good = { ...key, id: `${key.id}-good` }
        const broken = ["\ud800", "a\udc00b", "x\u0000y"]
        const refused = [
          ...broken.map((id) => commit({ ...key, id: `${key.id}${id}` }, -1)),
          ...broken.map((name, index) => commit({ ...key, id: `${key.id}-t${index}` }, -1, { setTimers: [{ name, entry: 0, due: 5 }] })),
          ...broken.map((name, index) =>
            commit({ ...key, id: `${key.id}-c${index}` }, -1, { commands: [{ key: name, slot: "mail", parameters: "{}", sequence: 0 }] }),
          ),
        ]
        const outcomes = yield* journal.commit([...refused, commit(good, -1)])
        assert.deepStrictEqual(outcomes.at(-1), stored)
        for (const outcome of outcomes.slice(0, -1)) {
          assert.instanceOf(outcome, PersistenceFailed)
          assert.match(String((outcome as PersistenceFailed).cause), /surrogate|null character/)
        }
        const sent = commit(good, 0, { events: [event(1, { dedupeId: "\ud800" })] })
        assert.instanceOf((yield* journal.commit([sent]))[0], PersistenceFailed)
        assert.deepStrictEqual(
          (yield* journal.page({ machine: key.machine }, 20)).map(({ id }) => id),
          [good.id],
        )
        const emoji = { ...key, id: `${key.id}-😀` }
        assert.deepStrictEqual(yield* journal.commit([commit(emoji, -1)]), [stored], "a whole pair is a character")
      }),
    )

    it.effect("144 what is larger than the store can read back is refused before it is stored, and only that", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        const [large, other] = [
          { ...key, id: `${key.id}-large` },
          { ...key, id: `${key.id}-other` },
        ]
        assert.isDefined(journal.maxBodyBytes)
        const limit = journal.maxBodyBytes ?? 0
        yield* journal.commit([commit(large, -1), commit(other, -1)])
        const body = "x".repeat(limit + 1)
        const [refused, kept] = yield* journal.commit([commit(large, 0, { events: [event(1, { body })] }), commit(other, 0)])
        assert.instanceOf(refused, PersistenceFailed)
        assert.match(String((refused as PersistenceFailed).cause), /larger than the \d+ bytes/)
        assert.deepStrictEqual(kept, stored)
        const again = [
          commit(large, 0, { snapshot: snapshot(1, { body }) }),
          commit({ ...key, id: "origin" }, -1, { origin: body }),
          commit({ ...key, id: "command" }, -1, { commands: [{ key: "k", slot: "mail", parameters: body, sequence: 0 }] }),
        ]
        for (const outcome of yield* journal.commit(again)) assert.instanceOf(outcome, PersistenceFailed)
        assert.strictEqual(Option.getOrThrow(yield* journal.open(large)).record.sequence, 0)
      }),
    )

    it.effect("144 a state larger than 16 MiB is read back, alone and with others", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        const other = { ...key, id: `${key.id}-other` }
        const body = JSON.stringify("é".repeat(9 * 1024 * 1024))
        yield* journal.commit([commit(other, -1), commit(key, -1, { origin: body, snapshot: snapshot(0, { body }) })])
        assert.deepStrictEqual(yield* journal.commit([commit(key, 0, { events: [event(1, { body })] })]), [stored])
        const opened = yield* journal.openAll([other, key])
        assert.strictEqual(opened.length, 2)
        assert.isTrue(opened[1]?.snapshot?.body === body && opened[1]?.origin === body)
        assert.isTrue((yield* journal.events(key, 0, 10))[0]?.body === body)
        assert.isTrue((yield* journal.tails([other, key]))[0]?.body === body)
      }),
    )

    registerAtomicity(it, hooks)
  })
