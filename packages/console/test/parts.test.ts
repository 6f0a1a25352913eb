import { assert, describe, it } from "vitest"
import { pathOf } from "../src/api/Client.ts"
import type { HistoryEntry } from "../src/api/types.ts"
import { hrefOf, placeOf } from "../src/browser/Router.tsx"
import { wayOf } from "../src/pages/instance/wayOf.ts"
import { commandOf, curlOf } from "../src/parts/Copy.tsx"
import { changesBetween, mostChanges } from "../src/parts/json.ts"
import { axisTop } from "../src/parts/Plot.tsx"
import { controlOf, emptyValue, type JsonSchema } from "../src/parts/SchemaForm.tsx"
import { stepsOf } from "../src/parts/TransitionTable.tsx"

describe("addresses of the console", () => {
  it("keep names with any character, each as one part of the path", () => {
    for (const name of ["a/b", "100%", "%2F", "?x=1", "#", "ü ñ", "<b>"]) {
      const href = hrefOf(["instances", "order", name], { at: 3 })
      const [path = "", search = ""] = href.split("?")
      const { names, query } = placeOf(path, search)
      assert.deepStrictEqual(names, ["instances", "order", name])
      assert.strictEqual(query.get("at"), "3")
    }
  })

  it("leave out values that are not set, and repeat those that have several", () => {
    assert.strictEqual(
      pathOf(["instances"], { machine: undefined, state: ["A b", "C"], limit: 5 }),
      "/api/v1/instances?state=A+b&state=C&limit=5",
    )
  })
})

describe("the axis of a plot", () => {
  it("ends at a round number that is at least the greatest value", () => {
    assert.deepStrictEqual([0.03, 0.4, 1, 1.1, 3, 4.5, 99, 100, 101, 25_000].map(axisTop), [0.04, 0.4, 1, 2, 4, 10, 100, 100, 200, 40_000])
  })
})

describe("copies of a view", () => {
  const session = { role: "operate", needsToken: false } as never
  const guarded = { role: "operate", needsToken: true, data: "it's/data" } as never

  it("name the data folder where it is not the default one", () => {
    assert.strictEqual(commandOf(session, "npx detent batch list"), "npx detent batch list")
    assert.strictEqual(commandOf(guarded, "npx detent batch list"), "npx detent batch list --data 'it'\\''s/data'")
    assert.strictEqual(commandOf(guarded, "npx detent dev --demo"), "npx detent dev --demo")
    assert.strictEqual(commandOf(guarded, "curl -s http://a/metrics"), "curl -s http://a/metrics")
  })

  it("take the token from the environment where the server needs one", () => {
    assert.strictEqual(curlOf(session, "http://a/b"), "curl -s http://a/b")
    assert.strictEqual(curlOf(guarded, "http://a/b"), 'curl -s http://a/b -H "authorization: Bearer $DETENT_TOKEN"')
  })
})

describe("the way of an instance through its diagram", () => {
  const entry = (sequence: number, from: string, state: { readonly _tag: string }): HistoryEntry =>
    ({
      sequence,
      at: 0,
      event: { _tag: "Go" },
      from,
      state,
      outcome: from === state._tag ? "Stay" : "Goto",
      through: [],
      requests: [],
    }) as never
  const arrays = ({ visited, taken, here }: ReturnType<typeof wayOf>) => ({ visited: [...visited], taken: [...taken], here: [...here] })

  it("has the states and transitions up to a step", () => {
    const entries = [entry(1, "A", { _tag: "B" }), entry(2, "B", { _tag: "B" }), entry(3, "B", { _tag: "C" })]
    assert.deepStrictEqual(arrays(wayOf(entries, 2, { _tag: "C" })), { visited: ["A", "B"], taken: ["A B"], here: ["B"] })
    assert.deepStrictEqual(arrays(wayOf(entries, 0, { _tag: "C" })).here, ["A"])
  })

  it("has a state of each region of a statechart", () => {
    const chart = (pay: string, ship: string) => ({ _tag: "open", value: { open: { pay, ship } }, context: {}, status: "active" })
    const entries = [entry(1, "open", chart("asked", "packing")), entry(2, "open", chart("paid", "packing"))]
    const way = arrays(wayOf(entries, 2, chart("paid", "packing")))
    assert.deepStrictEqual(way.here, ["open.pay.paid", "open.ship.packing"])
    assert.deepStrictEqual(
      way.taken.filter((taken) => taken.startsWith("open.")),
      ["open.pay.asked open.pay.paid"],
    )
  })
})

describe("the difference of two states", () => {
  it("names what was changed, added and removed, at any depth", () => {
    assert.deepStrictEqual(changesBetween({ a: 1, b: { c: [1, 2] }, gone: true }, { a: 2, b: { c: [1, 3, 4] }, here: null }), [
      { path: "a", before: 1, after: 2 },
      { path: "b.c[1]", before: 2, after: 3 },
      { path: "b.c[2]", before: undefined, after: 4 },
      { path: "gone", before: true, after: undefined },
      { path: "here", before: undefined, after: null },
    ])
  })

  it("is bounded, however much has changed", () => {
    const many = (value: number) => Array.from({ length: 100_000 }, () => value)
    assert.strictEqual(changesBetween(many(1), many(2)).length, mostChanges)
  })

  it("is empty for the same content", () => {
    assert.deepStrictEqual(changesBetween({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }), [])
  })
})

describe("a form from a JSON Schema", () => {
  const schema: JsonSchema = {
    type: "object",
    properties: {
      _tag: { type: "string", enum: ["Pay"] },
      amount: { type: "integer" },
      currency: { enum: ["EUR", "USD"] },
      mode: { anyOf: [{ const: "card" }, { const: "cash" }] },
      lines: { type: "array", items: { $ref: "#/$defs/Line" } },
      note: { type: "string" },
      odd: { anyOf: [{ type: "string" }, { type: "number" }] },
    },
    required: ["_tag", "amount", "currency", "mode", "lines", "odd"],
    $defs: { Line: { type: "object", properties: { sku: { type: "string" } }, required: ["sku"] } },
  }

  it("begins with its required fields, without the tag", () => {
    assert.deepStrictEqual(emptyValue(schema), { amount: 0, currency: "EUR", mode: "card", lines: [], odd: null })
  })

  it("edits what it has no control for as JSON", () => {
    const control = controlOf(schema, schema.$defs ?? {})
    assert.strictEqual(control.kind, "object")
    const kinds = Object.entries(schema.properties ?? {}).map(([name, field]) => [name, controlOf(field, schema.$defs ?? {}).kind])
    assert.deepStrictEqual(kinds.slice(1), [
      ["amount", "number"],
      ["currency", "choice"],
      ["mode", "choice"],
      ["lines", "list"],
      ["note", "text"],
      ["odd", "json"],
    ])
  })
})

describe("the table of a machine that is too large for a drawing", () => {
  it("has every way between states with its cause, and none that keeps the state", () => {
    const steps = stepsOf({
      states: [],
      transitions: [
        { _tag: "Event", from: "A", event: "Go", targets: [{ _tag: "State", state: "B" }, { _tag: "Stay" }] },
        { _tag: "Timeout", from: "B", name: "late", targets: [{ _tag: "State", state: "C" }] },
        { _tag: "Always", from: "*", targets: [{ _tag: "State", state: "D" }, { _tag: "Stop" }] },
      ],
    })
    assert.deepStrictEqual(steps, [
      { from: "A", to: "B", cause: "Go" },
      { from: "B", to: "C", cause: "late" },
      { from: "*", to: "D", cause: undefined },
    ])
  })
})
