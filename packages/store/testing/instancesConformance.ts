/** The rules of looking at instances and mending them: lists, counts, status, repair, fork. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Commit, InstanceKey, InstanceStatus, InstanceSummary } from "../src/contract/Commit.ts"
import type { InstanceCursor } from "../src/contract/Journal.ts"
import { Journal } from "../src/contract/Journal.ts"
import type { StoreLayer } from "./StoreHooks.ts"
import { commit, conflict, crowdOf, event, freshKey, shapes, snapshot, step, stored } from "./samples.ts"

export const instancesConformance = <R = never>(name: string, store: StoreLayer<R>): void =>
  layer(store, { excludeTestServices: true, timeout: "60 seconds" })(`${name}: instances`, (it) => {
    it.effect("lists instances oldest change first, in pages that neither skip nor repeat", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { machine } = yield* freshKey
        const keys = Array.from({ length: 25 }, (_, index) => ({ machine, id: `i-${String(index).padStart(2, "0")}` }))
        // Five share each time, so that pages end between equals.
        yield* journal.commit(keys.map((key, index) => commit(key, -1, { at: 100 - Math.floor(index / 5) })))
        const expected = [4, 3, 2, 1, 0].flatMap((group) => keys.slice(group * 5, group * 5 + 5)).map(({ id }) => id)
        const seen: Array<string> = []
        let after: InstanceCursor | undefined
        do {
          const page = yield* journal.list({ machine }, 7, after)
          seen.push(...page.instances.map(({ id }) => id))
          after = page.next
        } while (after !== undefined)
        assert.deepStrictEqual(seen, expected)
        assert.strictEqual((yield* journal.list({ machine }, 25)).next, undefined)
      }),
    )

    it.effect("158 lists the newest change first where asked to, and pages of an id prefix in the order of ids", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { machine } = yield* freshKey
        const ids = ["a-1", "a-2", "a", "b-1", "a-\u{10FFFF}x", "a.", "A-1"]
        yield* journal.commit(ids.map((id, index) => commit({ machine, id }, -1, { at: 100 + index })))
        const seen: Array<string> = []
        let after: InstanceCursor | undefined
        do {
          const page = yield* journal.list({ machine, order: "newest" }, 2, after)
          seen.push(...page.instances.map(({ id }) => id))
          after = page.next
        } while (after !== undefined)
        assert.deepStrictEqual(seen, ids.toReversed())
        const first = yield* journal.page({ machine, idPrefix: "a-" }, 2)
        assert.deepStrictEqual(
          first.map(({ id }) => id),
          ["a-1", "a-2"],
        )
        assert.deepStrictEqual(yield* journal.page({ machine, idPrefix: "a-x" }, 2), [])
        const all = yield* journal.page({ machine, idPrefix: "a-" }, 10)
        assert.deepStrictEqual(
          all.map(({ id }) => id),
          ["a-1", "a-2", "a-\u{10FFFF}x"],
        )
      }),
    )

    it.effect("158 lists instances in any of several states, in one order, with names by code points", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { machine } = yield* freshKey
        const summary = (tag: string, status: InstanceStatus = "running") =>
          ({ tag, status, reason: undefined, version: 1, needsOwner: false, owner: undefined, owes: false }) as const
        const ids = ["x\uFF21", "x\u{1F600}", "x\uFF22", "x"]
        yield* journal.commit(
          ids.map((id, index) => commit({ machine, id }, -1, { at: 100, summary: summary(["A", "B", "C"][index % 3] ?? "A") })),
        )
        yield* journal.commit([commit({ machine, id: "late" }, -1, { at: 200, summary: summary("B", "final") })])
        const seen: Array<string> = []
        let after: InstanceCursor | undefined
        do {
          const page = yield* journal.list({ machine, tag: ["A", "B"], order: "newest" }, 1, after)
          seen.push(...page.instances.map(({ id }) => id))
          after = page.next
        } while (after !== undefined)
        assert.deepStrictEqual(seen, ["late", "x\u{1F600}", "x\uFF21", "x"])
        const running = yield* journal.list({ machine, tag: ["B", "C"], status: "running" }, 10)
        assert.deepStrictEqual(
          running.instances.map(({ id }) => id),
          ["x\uFF22", "x\u{1F600}"],
        )
        assert.deepStrictEqual((yield* journal.list({ machine, tag: [] }, 10)).instances, [])
        const many = Array.from({ length: 600 }, (_, index) => `S${index}`)
        assert.strictEqual((yield* journal.list({ machine, tag: ["A", ...many] }, 10)).instances.length, 2)
      }),
    )

    it.effect("158 lists and counts follow every change at once: commits, holds, repairs and forks", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        const { machine } = key
        const shown = Effect.gen(function* () {
          const { instances } = yield* journal.list({ machine }, 10)
          const held = yield* journal.list({ machine, status: "held" }, 10)
          const paged = yield* journal.page({ machine, status: "held" }, 10)
          assert.deepStrictEqual(
            paged.map(({ id }) => id),
            held.instances.map(({ id }) => id),
          )
          return {
            tags: instances.map(({ tag }) => tag),
            held: held.instances.length,
            counts: Object.fromEntries(yield* journal.count(machine)),
          }
        })
        const summary = (tag: string) =>
          ({ tag, status: "running", reason: undefined, version: 1, needsOwner: false, owner: undefined, owes: false }) as const
        yield* journal.commit([commit(key, -1, { summary: summary("A") })])
        assert.deepStrictEqual(yield* shown, { tags: ["A"], held: 0, counts: { A: 1 } })
        yield* journal.commit([commit(key, 0, { summary: summary("B") })])
        yield* journal.commit([commit(key, 0, { summary: summary("C") })])
        assert.deepStrictEqual(yield* shown, { tags: ["B"], held: 0, counts: { B: 1 } }, "a refused commit changes nothing")
        yield* journal.setStatus({ ...key, sequence: 1, status: "running" }, "held", "why")
        assert.deepStrictEqual(yield* shown, { tags: ["B"], held: 1, counts: { B: 1 } })
        yield* journal.fork(key, 1, commit({ machine, id: "fork" }, -1, { sequence: 1, at: 5_000_000_000_000, summary: summary("B") }))
        assert.deepStrictEqual(yield* shown, { tags: ["B", "B"], held: 1, counts: { B: 2 } })
      }),
    )

    it.effect("tells how far instances have come, in the order asked for, of one or of many", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { machine } = yield* freshKey
        const keys = ["a", "b", "c"].map((id) => ({ machine, id }))
        const [a, b, c] = keys as [InstanceKey, InstanceKey, InstanceKey]
        yield* journal.commit([commit(a, -1), commit(c, -1)])
        yield* journal.commit([commit(c, 0)])
        yield* journal.setStatus({ ...a, sequence: 0, status: "running" }, "held", "it no longer fits")
        const { at: startedAt } = commit(a, -1)
        const held = { sequence: 0, status: "held", startedAt } as const
        const running = { sequence: 1, status: "running", startedAt } as const
        assert.deepStrictEqual(yield* journal.standings([c, b, a, c]), [running, undefined, held, running])
        assert.deepStrictEqual(yield* journal.standings([a]), [held])
        assert.deepStrictEqual(yield* journal.standings([b]), [undefined])
        assert.deepStrictEqual(yield* journal.standings([]), [])
      }),
    )

    it.effect("filters by machine, state, status, residence and time of change, and counts by state", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { machine } = yield* freshKey
        const summary = {
          tag: "A",
          status: "running",
          reason: undefined,
          version: 1,
          needsOwner: false,
          owner: undefined,
          owes: false,
        } as const
        yield* journal.commit([
          commit({ machine, id: "1" }, -1, { at: 10, summary }),
          commit({ machine, id: "2" }, -1, { at: 20, summary: { ...summary, tag: "B", needsOwner: true } }),
          commit({ machine, id: "3" }, -1, { at: 30, summary: { ...summary, tag: "B", status: "stopped", reason: "enough" } }),
        ])
        const ids = (filter: object) =>
          Effect.map(journal.list({ machine, ...filter }, 10), ({ instances }) => instances.map(({ id }) => id))
        assert.deepStrictEqual(yield* ids({}), ["1", "2", "3"])
        assert.deepStrictEqual(yield* ids({ tag: "B" }), ["2", "3"])
        assert.deepStrictEqual(yield* ids({ status: "stopped" }), ["3"])
        assert.deepStrictEqual(yield* ids({ needsOwner: true }), ["2"])
        assert.deepStrictEqual(yield* ids({ needsOwner: false }), ["1", "3"])
        assert.deepStrictEqual(yield* ids({ updatedAfter: 10, updatedBefore: 30 }), ["2"])
        assert.deepStrictEqual(
          yield* journal.count(machine),
          new Map([
            ["A", 1],
            ["B", 2],
          ]),
        )
      }),
    )

    it.effect("78 the summary of the last commit is what is listed, and the time of the start stays", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        yield* journal.commit([commit(key, -1, { at: 10 })])
        const summary = {
          tag: "Gone",
          status: "stopped",
          reason: "asked to",
          version: 3,
          needsOwner: false,
          owner: undefined,
          owes: true,
        } as const
        yield* journal.commit([commit(key, 0, { at: 20, summary })])
        const { record } = Option.getOrThrow(yield* journal.open(key))
        assert.deepStrictEqual(record, { ...key, ...summary, sequence: 1, startedAt: 10, updatedAt: 20 })
      }),
    )

    it.effect("77 an instance can be held, its event rewritten, and released", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        yield* journal.commit([commit(key, -1)])
        yield* journal.commit([commit(key, 0, { events: [event(1, { dedupeId: "sent-1" })] })])
        assert.isTrue(yield* journal.setStatus({ ...key, sequence: 1, status: "running" }, "held", "event 1 no longer fits"))
        const heldByKey = Effect.map(journal.page({ machine: key.machine, status: "held" }, 10), (page) => page.map(({ id }) => id))
        assert.deepStrictEqual(yield* heldByKey, [key.id], "though the listing was not read before")
        const held = yield* journal.list({ machine: key.machine, status: "held" }, 10)
        assert.deepStrictEqual(yield* heldByKey, [key.id])
        assert.deepStrictEqual(
          held.instances.map(({ id, reason }) => [id, reason]),
          [[key.id, "event 1 no longer fits"]],
        )
        assert.isTrue(yield* journal.rewrite(key, event(1, { tag: "Turned", body: "{}" })))
        assert.isFalse(yield* journal.rewrite(key, event(2)))
        assert.isFalse(yield* journal.rewrite(key, event(1, { body: "[]" }), "{ }"))
        assert.deepStrictEqual(yield* journal.events(key, 0, 10), [event(1, { tag: "Turned", body: "{}", dedupeId: "sent-1" })])
        assert.isTrue(yield* journal.rewrite(key, event(1, { tag: "Turned", body: "[]" }), "{}"))
        assert.isTrue(yield* journal.setStatus({ ...key, sequence: 1, status: "held" }, "running", undefined))
        assert.deepStrictEqual(yield* heldByKey, [])
        assert.deepStrictEqual(Option.getOrThrow(yield* journal.open(key)).record.reason, undefined)
      }),
    )

    it.effect("149 a status is changed by compare-and-set: what another process did since is not overwritten", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        yield* journal.commit([commit(key, -1)])
        const seen = { ...key, sequence: 0, status: "running" } as const
        yield* journal.commit([
          commit(key, 0, {
            summary: { tag: "Done", status: "final", reason: undefined, version: 1, needsOwner: false, owner: undefined, owes: false },
          }),
        ])
        assert.isFalse(yield* journal.setStatus(seen, "held", "it was read too early"))
        assert.isFalse(yield* journal.setStatus({ ...seen, sequence: 1 }, "held", "it has ended"))
        const { startedAt } = Option.getOrThrow(yield* journal.open(key)).record
        const ofAnother = { ...key, sequence: 1, status: "final", startedAt: startedAt - 1 } as const
        assert.isFalse(yield* journal.setStatus(ofAnother, "held", "it is of an earlier life"))
        assert.isFalse(yield* journal.setStatus({ ...seen, status: "final" }, "held", "it has gone further"))
        assert.deepInclude(Option.getOrThrow(yield* journal.open(key)).record, { status: "final", reason: undefined, sequence: 1 })
        const racers = Array.from({ length: 20 }, (_, racer) =>
          journal.setStatus({ ...key, sequence: 1, status: "final" }, "held", `racer ${racer}`),
        )
        const won = yield* Effect.all(racers, { concurrency: "unbounded" })
        assert.strictEqual(won.filter((has) => has).length, 1)
      }),
    )

    it.effect("77 what was decided before an event was rewritten is refused, in every form of a commit and as a snapshot", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { machine } = yield* freshKey
        const keys = Array.from({ length: 20 }, (_, index) => ({ machine, id: `rewritten-${index}` }))
        yield* journal.commit(keys.map((key) => commit(key, -1)))
        yield* journal.commit(keys.map((key) => commit(key, 0, { events: [event(1)] })))
        const [key] = keys as [InstanceKey, ...Array<InstanceKey>]
        const { startedAt, revision } = Option.getOrThrow(yield* journal.open(key)).record
        assert.isUndefined(revision)
        assert.isFalse(yield* journal.rewrite({ ...key, sequence: 2 }, event(1, { body: "[]" })), "it is at another sequence")
        assert.isFalse(yield* journal.rewrite({ ...key, sequence: 1 }, event(1, { body: "[]" }), "{ }"), "the event is another")
        assert.deepStrictEqual(yield* journal.standings([key]), [{ sequence: 1, status: "running", startedAt }])
        for (const one of keys) assert.isTrue(yield* journal.rewrite({ ...one, sequence: 1 }, event(1, { body: "[]" })))
        assert.deepStrictEqual(yield* journal.standings([key]), [{ sequence: 1, status: "running", startedAt, revision: 1 }])
        assert.strictEqual(Option.getOrThrow(yield* journal.open(key)).record.revision, 1)
        for (const [name, fields] of shapes) {
          assert.deepStrictEqual(yield* journal.commit([step(key, 1, { ...fields(2), startedAt })]), [conflict(1)], name)
          const outcomes = yield* journal.commit(keys.map((one) => step(one, 1, { ...fields(2), startedAt })))
          assert.deepStrictEqual(outcomes, Array(20).fill(conflict(1)), name)
        }
        assert.isFalse(yield* journal.saveSnapshot({ ...key, startedAt }, snapshot(1)))
        assert.isTrue(yield* journal.saveSnapshot({ ...key, startedAt, revision: 1 }, snapshot(1)))
        const outcomes = yield* journal.commit(keys.map((one) => step(one, 1, { startedAt, revision: 1 })))
        assert.deepStrictEqual(outcomes, Array(20).fill(stored))
        assert.deepInclude(Option.getOrThrow(yield* journal.open(key)).record, { sequence: 2, revision: 1 })
      }),
    )

    it.effect("the start of an instance and the revision of its journal are two things, in every shape of a commit", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const keys = crowdOf((yield* freshKey).machine).slice(0, 20)
        const [key] = keys as [InstanceKey, ...Array<InstanceKey>]
        yield* journal.commit(keys.map((one) => commit(one, -1)))
        yield* journal.commit(keys.map((one) => commit(one, 0, { events: [event(1)] })))
        const { startedAt } = Option.getOrThrow(yield* journal.open(key)).record
        /** `actual`: -1 for another instance of the id, else the sequence of this one. */
        const refuses = (life: Pick<Commit, "startedAt" | "revision">, actual: number) =>
          Effect.forEach(shapes, ([name, fields]) =>
            Effect.gen(function* () {
              assert.deepStrictEqual(yield* journal.commit([step(key, 1, { ...fields(2), ...life })]), [conflict(actual)], name)
              const outcomes = yield* journal.commit(keys.map((one) => step(one, 1, { ...fields(2), ...life })))
              assert.deepStrictEqual(outcomes, Array(20).fill(conflict(actual)), name)
            }),
          )
        yield* refuses({ startedAt: startedAt - 1, revision: 1 }, -1)
        for (const one of keys) assert.isTrue(yield* journal.rewrite({ ...one, sequence: 1 }, event(1, { body: "[]" })))
        yield* refuses({ startedAt: startedAt + 1 }, -1)
        yield* refuses({ startedAt }, 1)
        const outcomes = yield* journal.commit(keys.map((one) => step(one, 1, { startedAt, revision: 1 })))
        assert.deepStrictEqual(outcomes, Array(20).fill(stored))
      }),
    )

    it.effect("160 removes instances that ended long ago with all that belongs to them, and nothing else", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { machine } = yield* freshKey
        const now = yield* journal.clock
        const hour = 3_600_000
        const summary = (status: InstanceStatus, owes = false) => ({
          tag: status,
          status,
          reason: undefined,
          version: 1,
          needsOwner: false,
          owner: undefined,
          owes,
        })
        const begin = (id: string, at: number, ended: InstanceSummary) =>
          Effect.gen(function* () {
            yield* journal.commit([commit({ machine, id }, -1, { at })])
            const events = [event(1, { dedupeId: "sent" })]
            yield* journal.commit([commit({ machine, id }, 0, { at, events, summary: ended, snapshot: snapshot(1) })])
          })
        yield* begin("old", now - 3 * hour, summary("final"))
        yield* begin("older", now - 4 * hour, summary("stopped"))
        yield* begin("young", now - hour, summary("final"))
        yield* begin("running", now - 9 * hour, summary("running"))
        yield* begin("owing", now - 9 * hour, summary("final", true))
        const commands = [{ key: `${machine}/open`, slot: "mail", parameters: "{}", sequence: 0 }]
        yield* journal.commit([commit({ machine, id: "asking" }, -1, { at: now - 9 * hour, commands, summary: summary("final") })])
        assert.strictEqual(yield* journal.countEnded(machine, 2 * hour), 2)
        assert.strictEqual(yield* journal.countEnded(machine, 5 * hour), 0)
        assert.strictEqual(yield* journal.purgeEnded(`${machine}-other`, 2 * hour, 10), 0)
        assert.strictEqual(yield* journal.purgeEnded(machine, 2 * hour, 1), 1)
        assert.strictEqual(yield* journal.purgeEnded(machine, 2 * hour, 10), 1)
        assert.strictEqual(yield* journal.purgeEnded(machine, 2 * hour, 10), 0)
        assert.strictEqual(yield* journal.countEnded(machine, 2 * hour), 0)
        const left = (yield* journal.page({ machine }, 10)).map(({ id }) => id)
        assert.deepStrictEqual(left, ["asking", "owing", "running", "young"])
        assert.deepStrictEqual(Object.fromEntries(yield* journal.count(machine)), { final: 3, running: 1 })
        assert.deepStrictEqual(yield* journal.events({ machine, id: "old" }, 0, 10), [])
        assert.strictEqual((yield* journal.events({ machine, id: "young" }, 0, 10)).length, 1)
        assert.deepStrictEqual(yield* journal.commit([commit({ machine, id: "old" }, -1)]), [stored], "its id is free again")
        assert.isTrue(Option.isNone(yield* journal.findDuplicate({ machine, id: "old" }, "sent")))
      }),
    )

    it.effect("160 an instance that begins after one was removed belongs to its own machine, and outlives a removal of the other", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { machine } = yield* freshKey
        const other = `${machine}-other`
        const at = (yield* journal.clock) - 3_600_000
        const ended = {
          tag: "Done",
          status: "final",
          reason: undefined,
          version: 1,
          needsOwner: false,
          owner: undefined,
          owes: false,
        } as const
        yield* journal.commit([commit({ machine, id: "old" }, -1, { at, summary: ended })])
        assert.strictEqual((yield* journal.list({ machine }, 10)).instances.length, 1)
        assert.strictEqual(yield* journal.purgeEnded(machine, 1000, 10), 1)
        yield* journal.commit([commit({ machine: other, id: "new" }, -1, { at, summary: ended })])
        assert.deepStrictEqual((yield* journal.list({ machine }, 10)).instances, [])
        assert.deepStrictEqual(
          (yield* journal.list({ machine: other }, 10)).instances.map(({ id }) => id),
          ["new"],
        )
        assert.deepStrictEqual([...(yield* journal.count(machine))], [])
        assert.deepStrictEqual([...(yield* journal.count(other))], [["Done", 1]])
        assert.strictEqual(yield* journal.purgeEnded(machine, 1000, 10), 0)
        assert.strictEqual(yield* journal.purgeEnded(other, 1000, 10), 1)
      }),
    )

    it.effect("names every machine that has an instance once, and none without", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { machine } = yield* freshKey
        for (const id of ["1", "2"]) for (const name of ["b", "a"]) yield* journal.commit([commit({ machine: machine + name, id }, -1)])
        const named = (yield* journal.machines).filter((name) => name.startsWith(machine))
        assert.deepStrictEqual(named, [`${machine}a`, `${machine}b`])
      }),
    )

    it.effect("a fork takes over the journal up to a sequence number and goes its own way", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        const fork = { ...key, id: `${key.id}-fork` }
        yield* journal.commit([commit(key, -1)])
        yield* journal.commit([commit(key, 0, { events: [event(1, { dedupeId: "sent-1" })] })])
        for (const expected of [1, 2]) yield* journal.commit([commit(key, expected, { snapshot: snapshot(expected + 1) })])
        const first = commit(fork, -1, { sequence: 2, origin: undefined })
        assert.deepStrictEqual(yield* journal.fork(key, 2, first), stored)
        assert.deepStrictEqual(yield* journal.fork(key, 2, first), conflict(2))
        assert.deepStrictEqual(yield* journal.fork({ ...key, id: "unknown" }, 2, commit({ ...key, id: "new" }, -1)), conflict(-1))
        assert.deepStrictEqual(yield* journal.events(fork, 0, 10), [event(1, { dedupeId: "sent-1" }), event(2)])
        const opened = Option.getOrThrow(yield* journal.open(fork))
        assert.deepStrictEqual([opened.origin, opened.snapshot], [`{"_tag":"Begun"}`, undefined])
        assert.deepStrictEqual(yield* journal.commit([commit(fork, 2)]), [stored])
        assert.strictEqual(Option.getOrThrow(yield* journal.open(key)).record.sequence, 3)
        const later = { ...key, id: `${key.id}-later` }
        assert.deepStrictEqual(yield* journal.fork(key, 3, commit(later, -1, { sequence: 4, events: [event(4)] })), stored)
        assert.deepStrictEqual(Option.getOrThrow(yield* journal.open(later)).snapshot, snapshot(3))
        assert.deepStrictEqual(
          (yield* journal.events(later, 0, 10)).map(({ sequence }) => sequence),
          [1, 2, 3, 4],
        )
        const repeated = commit({ ...key, id: `${key.id}-repeated` }, -1, { sequence: 4, events: [event(4, { dedupeId: "sent-1" })] })
        assert.deepStrictEqual(yield* journal.fork(key, 3, repeated), { _tag: "Duplicate", dedupeId: "sent-1", sequence: 1 })
      }),
    )

    it.effect("a fork takes over the ids under which other nodes sent events", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const key = yield* freshKey
        const dedupeIds = [`@delivery/${key.id}/1`, "sent-2", `@delivery/${key.id}/3`]
        const events = dedupeIds.map((dedupeId, index) => event(index + 1, { dedupeId }))
        yield* journal.commit([commit(key, -1)])
        for (const [expected, one] of events.entries()) yield* journal.commit([commit(key, expected, { events: [one] })])
        const fork = { ...key, id: `${key.id}-fork` }
        assert.deepStrictEqual(yield* journal.fork(key, 3, commit(fork, -1, { sequence: 3 })), stored)
        assert.deepStrictEqual(yield* journal.events(fork, 0, 10), events)
        for (const [index, dedupeId] of dedupeIds.entries()) {
          const duplicate = { _tag: "Duplicate", dedupeId, sequence: index + 1 } as const
          assert.deepStrictEqual(yield* journal.commit([commit(fork, 3, { events: [event(4, { dedupeId })] })]), [duplicate])
          const again = { ...key, id: `${key.id}-again-${index}` }
          const repeated = commit(again, -1, { sequence: 4, events: [event(4, { dedupeId })] })
          assert.deepStrictEqual(yield* journal.fork(key, 3, repeated), duplicate)
        }
      }),
    )
  })
