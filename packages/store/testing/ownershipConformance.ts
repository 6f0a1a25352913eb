/** The rules of ownership, as tests: which node runs the work of an instance's state, and what refuses a node that lost its lease. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Fence, InstanceKey, InstanceSummary } from "../src/contract/Commit.ts"
import { Journal, type OpenedInstance } from "../src/contract/Journal.ts"
import { Leases } from "../src/contract/Leases.ts"
import type { StoreLayer } from "./StoreHooks.ts"
import { commit, crowdOf, event, freshKey, shapes, step, stored } from "./samples.ts"

export const ownershipConformance = <R = never>(name: string, store: StoreLayer<R>): void =>
  layer(store, { excludeTestServices: true, timeout: "60 seconds" })(`${name}: ownership`, (it) => {
    it.effect.each(shapes)("137 a commit that names no owner keeps the owner while the state has work: %s", ([, fields]) =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const [one, two] = yield* instances(["one", "two"], "node-a")
        const keeping = (key: InstanceKey, expected: number) => commit(key, expected, { ...fields(expected + 1), summary: atWork() })
        assert.deepStrictEqual(yield* journal.commit([keeping(one, 0), keeping(two, 0)]), [stored, stored])
        assert.deepStrictEqual(yield* journal.commit([keeping(one, 1)]), [stored])
        assert.deepStrictEqual([yield* ownerOf(one), yield* ownerOf(two)], ["node-a", "node-a"])
      }),
    )

    it.effect.each(shapes)("137 a commit that names an owner sets it: %s", ([, fields]) =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const [one, two] = yield* instances(["one", "two"], "node-a")
        const taking = (key: InstanceKey, expected: number, node: string) =>
          commit(key, expected, { ...fields(expected + 1), summary: atWork(node) })
        assert.deepStrictEqual(yield* journal.commit([taking(one, 0, "node-b"), taking(two, 0, "node-b")]), [stored, stored])
        assert.deepStrictEqual([yield* ownerOf(one), yield* ownerOf(two)], ["node-b", "node-b"])
        assert.deepStrictEqual(yield* journal.commit([taking(one, 1, "node-c")]), [stored])
        assert.strictEqual(yield* ownerOf(one), "node-c")
      }),
    )

    it.effect.each(shapes)("137 leaving the state with work clears the owner: %s", ([, fields]) =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const [one, two] = yield* instances(["one", "two"], "node-a")
        const leaving = (key: InstanceKey, expected: number) => commit(key, expected, { ...fields(expected + 1), summary: idle })
        assert.deepStrictEqual(yield* journal.commit([leaving(one, 0), leaving(two, 0)]), [stored, stored])
        assert.deepStrictEqual([yield* ownerOf(one), yield* ownerOf(two)], [undefined, undefined])
        const entering = commit(one, 1, { ...fields(2), summary: atWork() })
        assert.deepStrictEqual(yield* journal.commit([entering]), [stored])
        assert.strictEqual(yield* ownerOf(one), undefined, "a state that is entered anew has no owner but the one that is named")
      }),
    )

    it.effect("137 139 in a crowd of one machine, owners are named, kept and cleared, and a fenced lease refuses all", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const leases = yield* Leases
        const { machine } = yield* freshKey
        const keys = crowdOf(machine)
        yield* journal.commit(keys.map((key) => commit(key, -1, { at: 2000, summary: idle })))
        const lease = `node/${machine}`
        const acquired = yield* leases.acquire(lease, "node-a", 60_000)
        const token = acquired._tag === "Acquired" ? acquired.lease.token : 0
        const all = (expected: number, summary: InstanceSummary, fence?: Fence) =>
          Effect.map(journal.commit(keys.map((key) => step(key, expected, { startedAt: 2000, summary, fence }))), (outcomes) => {
            const [first, ...others] = outcomes
            for (const other of others) assert.deepStrictEqual(other, first)
            return first
          })
        const owners = Effect.map(Effect.forEach(keys, ownerOf), (names) => [...new Set(names)])
        assert.deepStrictEqual(yield* all(0, atWork("node-a"), { lease, token }), stored)
        assert.deepStrictEqual(yield* owners, ["node-a"])
        assert.deepStrictEqual(yield* all(1, atWork()), stored)
        assert.deepStrictEqual(yield* owners, ["node-a"])
        if (acquired._tag === "Acquired") yield* leases.release(acquired.lease)
        assert.isTrue(yield* leases.fenceHolder(lease))
        assert.deepStrictEqual(yield* all(2, atWork("node-b"), { lease, token }), { _tag: "Fenced", newest: token + 1 })
        assert.deepStrictEqual(yield* owners, ["node-a"])
        assert.deepStrictEqual(yield* all(2, idle), stored)
        assert.deepStrictEqual(yield* owners, [undefined])
      }),
    )

    it.effect("137 what stopped or holds an instance is its reason, never its owner", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const [key] = yield* instances(["one"], "node-a")
        assert.deepStrictEqual(yield* placement(key), ["node-a", undefined])
        yield* journal.setStatus({ ...key, sequence: 0, status: "running" }, "held", "event 1 no longer fits")
        assert.deepStrictEqual(yield* placement(key), [undefined, "event 1 no longer fits"])
        yield* journal.setStatus({ ...key, sequence: 0, status: "held" }, "running", undefined)
        assert.deepStrictEqual(yield* placement(key), [undefined, undefined])
        yield* journal.commit([commit(key, 0, { summary: { ...idle, status: "stopped", reason: "asked to" } })])
        assert.deepStrictEqual(yield* placement(key), [undefined, "asked to"])
      }),
    )

    it.effect("138 the owner is changed by compare-and-set: of two nodes that take over one succeeds", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const keys = yield* instances(
          Array.from({ length: 20 }, (_, index) => `i-${index}`),
          "node-dead",
        )
        const [idleKey, ownKey, ...taken] = keys as [InstanceKey, InstanceKey, ...Array<InstanceKey>]
        yield* journal.commit([commit(idleKey, 0, { summary: idle }), commit(ownKey, 0, { summary: atWork("node-alive") })])
        const racers = ["node-b", "node-c", "node-d"].map((node) => journal.changeOwner(keys, "node-dead", node))
        const won = yield* Effect.all(racers, { concurrency: "unbounded" })
        assert.deepStrictEqual(won.flatMap((part) => part.map(({ id }) => id)).sort(), taken.map(({ id }) => id).sort())
        assert.deepStrictEqual([yield* ownerOf(idleKey), yield* ownerOf(ownKey)], [undefined, "node-alive"])
        assert.strictEqual(
          (yield* journal.openAll(keys)).filter(({ record }) => record.sequence > 0).length,
          2,
          "nothing is journaled by it",
        )
        assert.deepStrictEqual(yield* journal.changeOwner(keys, "node-dead", "node-b"), [])
        assert.deepStrictEqual(yield* journal.changeOwner([], "node-dead", "node-b"), [])
        const [orphan] = yield* instances(["orphan"], undefined)
        assert.deepStrictEqual(yield* journal.changeOwner([orphan], undefined, "node-b"), [orphan])
        assert.strictEqual(yield* ownerOf(orphan), "node-b")
      }),
    )

    it.effect("138 159 instances are taken over page by page: each by one of the nodes that try, and opened as they are stored", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const ids = Array.from({ length: 20 }, (_, index) => `i-${String(index).padStart(2, "0")}`)
        const keys = yield* instances(ids, "node-dead")
        const { machine } = keys[0]
        const key = (id: string): InstanceKey => ({ machine, id })
        yield* journal.commit([
          commit(key("i-01"), 0, { summary: idle }),
          commit(key("i-02"), 0, { summary: atWork("node-alive") }),
          commit(key("i-03"), 0, { summary: { ...atWork("node-dead"), version: 2 } }),
          commit(key("i-04"), 0, { summary: atWork(), setTimers: [{ name: "t", entry: 0, due: 5 }] }),
        ])
        const filter = { machine, owner: "node-dead", newestVersion: 1 }
        const takeAll = (node: string) =>
          Effect.gen(function* () {
            const opened: Array<OpenedInstance> = []
            for (let after: string | undefined; ; ) {
              const page = yield* journal.takeOver(filter, node, 4, after)
              opened.push(...page.opened)
              if (page.next === undefined) return opened
              after = page.next
            }
          })
        const won = (yield* Effect.all([takeAll("node-b"), takeAll("node-c")], { concurrency: "unbounded" })).flat()
        const taken = ids.filter((id) => !["i-01", "i-02", "i-03"].includes(id))
        assert.deepStrictEqual(won.map(({ record }) => record.id).sort(), taken, "each once, and none of another owner or newer version")
        const stored = yield* journal.openAll(won.map(({ record }) => record))
        assert.deepStrictEqual(won, stored)
        assert.deepStrictEqual(won.find(({ record }) => record.id === "i-04")?.timers, [{ name: "t", entry: 0, due: 5 }])
        assert.deepStrictEqual([yield* ownerOf(key("i-02")), yield* ownerOf(key("i-03"))], ["node-alive", "node-dead"])
        assert.deepStrictEqual(yield* journal.takeOver(filter, "node-b", 4), { opened: [], next: undefined })
        const [orphan] = yield* instances(["orphan"], undefined)
        const orphans = yield* journal.takeOver({ machine: orphan.machine, owner: null }, "node-b", 1)
        assert.deepStrictEqual([orphans.opened.map(({ record }) => record.owner), orphans.next], [["node-b"], "orphan"])
      }),
    )

    it.effect("138 lists the distinct owners of instances with work, and undefined for those without one", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { machine } = yield* freshKey
        const begin = (id: string, summary: InstanceSummary) => commit({ machine, id }, -1, { summary })
        assert.deepStrictEqual(yield* journal.owners(machine), [])
        yield* journal.commit([
          begin("1", atWork("node-b")),
          begin("2", atWork("node-a")),
          begin("3", atWork("node-b")),
          begin("4", idle),
          begin("5", { ...atWork("asked to"), status: "stopped" }),
        ])
        assert.deepStrictEqual((yield* journal.owners(machine)).toSorted(), ["node-a", "node-b"])
        yield* journal.commit([begin("6", atWork())])
        assert.deepStrictEqual((yield* journal.owners(machine)).toSorted(), ["node-a", "node-b", undefined])
      }),
    )

    it.effect("159 pages by id neither skip nor repeat while instances change", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { machine } = yield* freshKey
        const ids = Array.from({ length: 25 }, (_, index) => `i-${String(index).padStart(2, "0")}`)
        const owner = (index: number) => (index % 5 === 0 ? undefined : index % 2 === 0 ? "node-a" : "node-b")
        yield* journal.commit(ids.map((id, index) => commit({ machine, id }, -1, { summary: index < 20 ? atWork(owner(index)) : idle })))
        const pages = (filter: { readonly needsOwner?: true; readonly owner?: string | null; readonly status?: "running" | "held" }) =>
          Effect.gen(function* () {
            const seen: Array<string> = []
            for (;;) {
              const page = yield* journal.page({ machine, ...filter }, 4, seen.at(-1))
              if (page.length === 0) return seen
              seen.push(...page.map(({ id }) => id))
              // The instance that the page ended with is written to last, and moves to the end of any order by time.
              const last = page.at(-1)
              if (last !== undefined)
                yield* journal.commit([commit(last, last.sequence, { at: 9_000, summary: { ...last, reason: last.owner } })])
            }
          })
        const among = (chosen: (index: number) => boolean) => ids.filter((_, index) => chosen(index))
        assert.deepStrictEqual(yield* pages({}), ids)
        assert.deepStrictEqual(
          yield* pages({ needsOwner: true }),
          among((index) => index < 20),
        )
        assert.deepStrictEqual(
          yield* pages({ owner: "node-a" }),
          among((index) => index < 20 && owner(index) === "node-a"),
        )
        assert.deepStrictEqual(
          yield* pages({ owner: null }),
          among((index) => index < 20 && owner(index) === undefined),
        )
        assert.deepStrictEqual(yield* pages({ status: "held" }), [])
      }),
    )

    it.effect.each(shapes)("139 109 a commit under the fence of a fenced lease is refused, one without a fence is not: %s", ([, fields]) =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const leases = yield* Leases
        const keys = yield* instances(["one", "two", "three", "free"], undefined)
        const [one, two, three, free] = keys as [InstanceKey, InstanceKey, InstanceKey, InstanceKey]
        const lease = `node/${one.machine}`
        const acquired = yield* leases.acquire(lease, "node-a", 60_000)
        assert.strictEqual(acquired._tag, "Acquired")
        const token = acquired._tag === "Acquired" ? acquired.lease.token : 0
        const fence: Fence = { lease, token }
        const owned = (key: InstanceKey, expected: number) =>
          commit(key, expected, { ...fields(expected + 1), summary: atWork("node-a"), fence })
        assert.deepStrictEqual(yield* journal.commit([owned(one, 0), owned(two, 0)]), [stored, stored])
        assert.deepStrictEqual(yield* journal.commit([owned(three, 0)]), [stored])
        assert.isFalse(yield* leases.fenceHolder(lease), "a lease that is held cannot be fenced")
        if (acquired._tag === "Acquired") yield* leases.release(acquired.lease)
        assert.deepStrictEqual(yield* journal.commit([owned(three, 1)]), [stored], "the token is still the newest")
        assert.isTrue(yield* leases.fenceHolder(lease))
        assert.isTrue(Option.isNone(yield* leases.get(lease)))
        const fenced = { _tag: "Fenced", newest: token + 1 } as const
        const unfenced = commit(free, 0, { ...fields(1), summary: idle })
        assert.deepStrictEqual(yield* journal.commit([owned(one, 1), unfenced, owned(two, 1)]), [fenced, stored, fenced])
        assert.deepStrictEqual(yield* journal.commit([owned(three, 2)]), [fenced])
        const again = yield* leases.acquire(lease, "node-a", 60_000)
        assert.strictEqual(again._tag === "Acquired" ? again.lease.token : 0, token + 2, "the token keeps growing")
        assert.isTrue(yield* leases.fenceHolder(`${lease}/unknown`))
        assert.isFalse(yield* leases.fenceHolder(lease, "node-b"), "held by another than the owner that has ended")
        assert.isTrue(yield* leases.fenceHolder(lease, "node-a"), "held by the owner that has ended")
        assert.isTrue(Option.isNone(yield* leases.get(lease)))
        const third = yield* leases.acquire(lease, "node-b", 60_000)
        assert.strictEqual(third._tag === "Acquired" ? third.lease.token : 0, token + 4)
        assert.deepStrictEqual(
          (yield* journal.openAll(keys)).map(({ record }) => record.sequence),
          [1, 1, 2, 1],
        )
      }),
    )

    it.effect("168 new instances under one fence are stored together, and refused together once the lease is buried", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const leases = yield* Leases
        const { machine } = yield* freshKey
        const lease = `node/${machine}`
        const acquired = yield* leases.acquire(lease, "node-a", 60_000)
        const token = acquired._tag === "Acquired" ? acquired.lease.token : 0
        const begin = (id: string) => commit({ machine, id }, -1, { summary: atWork("node-a"), fence: { lease, token } })
        assert.deepStrictEqual(yield* journal.commit([begin("1"), begin("2")]), [stored, stored])
        if (acquired._tag === "Acquired") yield* leases.release(acquired.lease)
        yield* leases.fenceHolder(lease)
        const fenced = { _tag: "Fenced", newest: token + 1 } as const
        const free = commit({ machine, id: "5" }, -1)
        assert.deepStrictEqual(yield* journal.commit([begin("3"), begin("4"), free]), [fenced, fenced, stored])
        assert.deepStrictEqual(
          (yield* journal.page({ machine }, 10)).map(({ id }) => id),
          ["1", "2", "5"],
        )
      }),
    )

    it.effect("139 a takeover sees every commit that was stored under the old token", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const leases = yield* Leases
        for (let round = 0; round < 10; round++) {
          const [key] = yield* instances(["one"], "node-a")
          const lease = `node/${key.machine}`
          const acquired = yield* leases.acquire(lease, "node-a", 60_000)
          if (acquired._tag !== "Acquired") return assert.fail("the lease is free")
          const fence: Fence = { lease, token: acquired.lease.token }
          const sendUntilRefused = Effect.gen(function* () {
            for (let expected = 0; ; expected++) {
              const [outcome] = yield* journal.commit([commit(key, expected, { at: event(expected + 1).at, summary: atWork(), fence })])
              if (outcome?._tag !== "Stored") return { outcome, sequence: expected }
            }
          })
          const takeOver = Effect.gen(function* () {
            yield* Effect.sleep(round)
            yield* leases.release(acquired.lease)
            yield* leases.fenceHolder(lease)
            yield* journal.changeOwner([key], "node-a", "node-b")
            return Option.getOrThrow(yield* journal.open(key)).record
          })
          const [sent, taken] = yield* Effect.all([sendUntilRefused, takeOver], { concurrency: "unbounded" })
          assert.strictEqual(sent.outcome?._tag, "Fenced")
          assert.deepStrictEqual([taken.owner, taken.sequence], ["node-b", sent.sequence])
        }
      }),
    )
  })

const atWork = (node?: string): InstanceSummary => ({
  tag: "Working",
  status: "running",
  reason: undefined,
  version: 1,
  needsOwner: true,
  owner: node,
  owes: false,
})

const idle: InstanceSummary = {
  tag: "Idle",
  status: "running",
  reason: undefined,
  version: 1,
  needsOwner: false,
  owner: undefined,
  owes: false,
}

/** New instances of one machine, in a state with work. */
const instances = (ids: ReadonlyArray<string>, owner: string | undefined) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const { machine } = yield* freshKey
    const keys = ids.map((id): InstanceKey => ({ machine, id }))
    yield* journal.commit(keys.map((key) => commit(key, -1, { summary: atWork(owner) })))
    return keys as [InstanceKey, InstanceKey, ...Array<InstanceKey>]
  })

const placement = (key: InstanceKey) =>
  Effect.flatMap(Journal, (journal) =>
    Effect.map(journal.open(key), (opened) => {
      const { owner, reason } = Option.getOrThrow(opened).record
      return [owner, reason]
    }),
  )

const ownerOf = (key: InstanceKey) => Effect.map(placement(key), ([owner]) => owner)
