import { assert, describe, it } from "@effect/vitest"
import { importCycles } from "../import-cycles.mjs"

const cyclesOf = (imports: Readonly<Record<string, ReadonlyArray<string>>>) => importCycles(new Map(Object.entries(imports)))

describe("import cycles", () => {
  it("finds none where imports point in one direction, also along two paths to the same file", () => {
    assert.deepStrictEqual(cyclesOf({ a: ["b", "c"], b: ["d"], c: ["d"], d: [] }), [])
  })

  it("names the whole cycle, from its first file by name", () => {
    assert.deepStrictEqual(cyclesOf({ z: ["c"], c: ["a"], a: ["b"], b: ["c"] }), [["a", "b", "c"]])
  })

  it("finds a file that imports itself", () => {
    assert.deepStrictEqual(cyclesOf({ a: ["a"], b: ["a"] }), [["a"]])
  })

  it("reports the shortest cycle of files that reach one another, and each group of files once", () => {
    const found = cyclesOf({ a: ["b"], b: ["c"], c: ["a", "b"], x: ["y", "a"], y: ["x"] })
    assert.deepStrictEqual(found, [
      ["b", "c"],
      ["x", "y"],
    ])
  })
})
