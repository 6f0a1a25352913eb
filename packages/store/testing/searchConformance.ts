/** The rules of finding instances by indexed fields and labels, as tests. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Commit } from "../src/contract/Commit.ts"
import { Journal } from "../src/contract/Journal.ts"
import type { IndexFill, SearchFilter, SearchPosition, StoredFields } from "../src/contract/Search.ts"
import type { StoreLayer } from "./StoreHooks.ts"
import { commit, conflict, freshKey, shapes, step, stored } from "./samples.ts"

const text = (name: string) => ({ name, isLabel: false, kind: "text", direction: "ascending" }) as const
const number = (name: string) => ({ name, isLabel: false, kind: "number", direction: "ascending" }) as const
const field = (name: string) => ({ name, isLabel: false })

const idsOf = (filter: SearchFilter) =>
  Effect.flatMap(Journal, (journal) => Effect.map(journal.search(filter, 100), ({ instances }) => instances.map(({ id }) => id)))

/** All pages of a search, each of this size. */
const allOf = (filter: SearchFilter, size: number) =>
  Effect.gen(function* () {
    const journal = yield* Journal
    const ids: Array<string> = []
    for (let after: SearchPosition | undefined; ; ) {
      const page = yield* journal.search(filter, size, after)
      ids.push(...page.instances.map(({ id }) => id))
      if (page.next === undefined) return ids
      after = page.next
    }
  })

export const searchConformance = (name: string, store: StoreLayer<never>): void =>
  layer(store, { excludeTestServices: true, timeout: "60 seconds" })(`${name}: search`, (it) => {
    const begin = (machine: string, values: Readonly<Record<string, StoredFields>>) =>
      Effect.flatMap(Journal, (journal) =>
        journal.commit(
          Object.entries(values).map(([id, fields]) => commit({ machine, id }, -1, { at: 999, fields: JSON.stringify(fields) })),
        ),
      )

    it.effect("an instance is found by its values as soon as the commit is stored, and no longer by those it had before", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { machine } = yield* freshKey
        yield* begin(machine, { a: { customer: "ada", total: 5, paid: false }, b: { customer: "bob", total: 7, paid: true } })
        const find = (customer: string) => idsOf({ machine, where: [{ ...field("customer"), equals: customer }] })
        assert.deepStrictEqual(yield* find("ada"), ["a"])
        const changed = JSON.stringify({ customer: "eve", total: 5 })
        assert.deepStrictEqual(yield* journal.commit([step({ machine, id: "a" }, 0, { fields: changed })]), [stored])
        assert.deepStrictEqual([yield* find("ada"), yield* find("eve")], [[], ["a"]])
        // A commit without values leaves them as they are.
        yield* journal.commit([step({ machine, id: "a" }, 1)])
        assert.deepStrictEqual(yield* find("eve"), ["a"])
        assert.strictEqual(Option.getOrThrow(yield* journal.open({ machine, id: "a" })).record.fields, changed)
        assert.deepStrictEqual(yield* idsOf({ machine, where: [{ ...field("paid"), equals: 1 }] }), ["b"])
        // A removed value is no longer found.
        assert.deepStrictEqual(yield* idsOf({ machine, where: [{ ...field("paid"), equals: 0 }] }), [])
      }),
    )

    it.effect("a refused commit changes no value", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { machine } = yield* freshKey
        yield* begin(machine, { a: { customer: "ada" } })
        const stale = step({ machine, id: "a" }, 4, { fields: `{"customer":"eve"}` })
        assert.deepStrictEqual(yield* journal.commit([stale]), [conflict(0)])
        assert.deepStrictEqual(yield* idsOf({ machine, where: [{ ...field("customer"), equals: "eve" }] }), [])
      }),
    )

    for (const [shape, fields] of shapes)
      for (const size of [1, 2, 20])
        it.effect(`values are stored with a commit of ${shape}, ${size} at once`, () =>
          Effect.gen(function* () {
            const journal = yield* Journal
            const { machine } = yield* freshKey
            const ids = Array.from({ length: size }, (_, index) => `i-${String(index).padStart(2, "0")}`)
            yield* journal.commit(
              ids.map((id) => commit({ machine, id }, -1, { at: 999, ...(id === "i-00" ? {} : { fields: `{"n":-1}` }) })),
            )
            const each = ids.map(
              (id, index): Commit =>
                commit({ machine, id }, 0, {
                  startedAt: 999,
                  ...fields(1),
                  // One of them keeps its values.
                  ...(index === 1 ? {} : { fields: `{"n":${index}}` }),
                }),
            )
            assert.deepStrictEqual(
              yield* journal.commit(each),
              ids.map(() => stored),
            )
            const expected = ids.filter((_, index) => index !== 1)
            assert.deepStrictEqual(yield* idsOf({ machine, where: [{ ...field("n"), atLeast: 0 }], order: number("n") }), expected)
            assert.deepStrictEqual(yield* idsOf({ machine, where: [{ ...field("n"), equals: -1 }] }), size > 1 ? ["i-01"] : [])
          }),
        )

    it.effect("conditions, orders and pages agree with a search through all instances", () =>
      Effect.gen(function* () {
        const { machine } = yield* freshKey
        const customers = ["ada", "bob", "Öz", "zoë", "日本", "\u{1f600}", ""]
        const values = Object.fromEntries(
          Array.from({ length: 150 }, (_, index): readonly [string, StoredFields] => [
            `i-${String((index * 77) % 150).padStart(3, "0")}`,
            {
              customer: customers[index % customers.length] ?? "",
              total: ((index * 37) % 40) / 2 - 3,
              ...(index % 3 === 0 ? {} : { dueAt: 1_700_000_000_000 + ((index * 13) % 50) }),
              paid: index % 2 === 0,
            },
          ]),
        )
        yield* begin(machine, values)
        const all = Object.entries(values).sort(([left], [right]) => (left < right ? -1 : 1))
        const expected = (fits: (value: StoredFields) => boolean) => all.filter(([, value]) => fits(value)).map(([id]) => id)
        const total = ({ total }: StoredFields) => Number(total)
        const searches: ReadonlyArray<readonly [SearchFilter["where"], (value: StoredFields) => boolean]> = [
          [[], () => true],
          [[{ ...field("customer"), equals: "" }], ({ customer }) => customer === ""],
          [[{ ...field("customer"), atLeast: "zo", below: "zp" }], ({ customer }) => String(customer).startsWith("zo")],
          [[{ ...field("total"), above: 3, atMost: 9.5 }], (value) => total(value) > 3 && total(value) <= 9.5],
          [
            [
              { ...field("total"), below: 0 },
              { ...field("paid"), equals: 1 },
            ],
            (value) => total(value) < 0 && value["paid"] === true,
          ],
          [
            [
              { ...field("customer"), equals: "ada" },
              { ...field("total"), above: 10 },
            ],
            (value) => value["customer"] === "ada" && total(value) > 10,
          ],
          [[{ ...field("customer"), equals: 3 }], () => false],
          [[{ ...field("unknown"), equals: "x" }], () => false],
        ]
        for (const [where, fits] of searches) {
          assert.deepStrictEqual(yield* allOf({ machine, where }, 7), expected(fits), JSON.stringify(where))
          const byTotal = expected(fits).sort((left, right) => total(values[left] ?? {}) - total(values[right] ?? {}))
          assert.deepStrictEqual(yield* allOf({ machine, where, order: number("total") }, 9), byTotal, `${JSON.stringify(where)} by total`)
          const descending = { ...number("total"), direction: "descending" } as const
          assert.deepStrictEqual(
            yield* allOf({ machine, where, order: descending }, 9),
            byTotal.toReversed().sort((left, right) => total(values[right] ?? {}) - total(values[left] ?? {})),
          )
          const dated = expected((value) => fits(value) && value["dueAt"] !== undefined)
          assert.deepStrictEqual((yield* allOf({ machine, where, order: number("dueAt") }, 20)).toSorted(), dated)
        }
        // Texts are ordered by their bytes in UTF-8, in every store.
        const ordered = yield* allOf({ machine, where: [], order: text("customer") }, 50)
        assert.deepStrictEqual(
          [...new Set(ordered.map((id) => values[id]?.["customer"]))],
          ["", "ada", "bob", "zoë", "Öz", "日本", "\u{1f600}"],
        )
        assert.deepStrictEqual(
          yield* idsOf({ machine, where: [], idPrefix: "i-14", tag: ["Moving"], status: "running" }),
          expected(() => true).slice(140),
        )
        assert.deepStrictEqual(yield* idsOf({ machine, where: [], tag: ["Other"] }), [])
        assert.deepStrictEqual(yield* idsOf({ machine: `${machine}x`, where: [] }), [])
      }),
    )

    it.effect("labels are set, changed and removed, and are no fields", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { machine } = yield* freshKey
        yield* begin(machine, { a: { incident: "field" }, b: {} })
        const label = (id: string, changes: Readonly<Record<string, string | null>>) => journal.label({ machine, id }, changes)
        assert.deepStrictEqual(yield* label("a", { incident: "42", team: "ops" }), {
          _tag: "Labelled",
          labels: `{"incident":"42","team":"ops"}`,
        })
        yield* label("b", { incident: "42" })
        yield* label("a", { team: null })
        const find = (isLabel: boolean, equals: string) => idsOf({ machine, where: [{ name: "incident", isLabel, equals }] })
        assert.deepStrictEqual([yield* find(true, "42"), yield* find(false, "42"), yield* find(false, "field")], [["a", "b"], [], ["a"]])
        // A commit keeps them.
        yield* journal.commit([step({ machine, id: "a" }, 0, { fields: `{"incident":"other"}` })])
        assert.deepStrictEqual([yield* find(true, "42"), yield* find(false, "other")], [["a", "b"], ["a"]])
        assert.strictEqual(Option.getOrThrow(yield* journal.open({ machine, id: "a" })).record.labels, `{"incident":"42"}`)
        assert.deepStrictEqual(yield* label("nobody", { incident: "1" }), { _tag: "NoInstance" })
        const many = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`l${index}`, "x"]))
        assert.deepStrictEqual(yield* label("a", many), { _tag: "TooMany", count: 21 })
        assert.strictEqual(Option.getOrThrow(yield* journal.open({ machine, id: "a" })).record.labels, `{"incident":"42"}`)
      }),
    )

    it.effect("a removed instance is not found, nor is a later one of its id by its values", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { machine } = yield* freshKey
        yield* begin(machine, { a: { customer: "ada" } })
        const { summary } = commit({ machine, id: "a" }, 0)
        yield* journal.commit([step({ machine, id: "a" }, 0, { summary: { ...summary, status: "final" } })])
        assert.deepStrictEqual(yield* idsOf({ machine, where: [{ ...field("customer"), equals: "ada" }] }), ["a"])
        assert.strictEqual(yield* journal.purgeEnded(machine, -1_000_000_000, 10), 1)
        assert.deepStrictEqual(yield* idsOf({ machine, where: [{ ...field("customer"), equals: "ada" }] }), [])
        yield* begin(machine, { b: { customer: "bob" } })
        yield* journal.commit([commit({ machine, id: "a" }, -1)])
        assert.deepStrictEqual(yield* idsOf({ machine, where: [{ ...field("customer"), equals: "ada" }] }), [])
        assert.deepStrictEqual(yield* idsOf({ machine, where: [{ ...field("customer"), equals: "bob" }] }), ["b"])
      }),
    )

    it.effect("values are filled in where the instance is still as it was read", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { machine } = yield* freshKey
        yield* journal.commit([commit({ machine, id: "a" }, -1, { at: 5 }), commit({ machine, id: "b" }, -1, { at: 5 })])
        yield* journal.commit([step({ machine, id: "b" }, 0)])
        const write = (id: string) => ({ id, startedAt: 5, sequence: 0, revision: 0, fields: `{"customer":"ada"}` })
        assert.deepStrictEqual(yield* journal.writeFields(machine, [write("a"), write("b"), write("c")]), ["b", "c"])
        assert.deepStrictEqual(yield* idsOf({ machine, where: [{ ...field("customer"), equals: "ada" }] }), ["a"])
      }),
    )

    it.effect("of two processes that fill an index, one moves on", () =>
      Effect.gen(function* () {
        const journal = yield* Journal
        const { machine } = yield* freshKey
        assert.isTrue(Option.isNone(yield* journal.indexFill(machine)))
        const first: IndexFill = { definition: "v1", through: undefined, filled: 0, isComplete: false }
        assert.isTrue(yield* journal.setIndexFill(machine, undefined, first))
        assert.isFalse(yield* journal.setIndexFill(machine, undefined, first))
        const next = { ...first, through: "m", filled: 10 }
        assert.isTrue(yield* journal.setIndexFill(machine, first, next))
        assert.isFalse(yield* journal.setIndexFill(machine, first, next))
        assert.isTrue(yield* journal.setIndexFill(machine, next, { ...next, isComplete: true }))
        assert.deepStrictEqual(Option.getOrThrow(yield* journal.indexFill(machine)), { ...next, isComplete: true })
      }),
    )
  })
