import { assert, describe, it } from "@effect/vitest"
import { folderCycles } from "../folder-cycles.mjs"

const cyclesOf = (imports: Readonly<Record<string, ReadonlyArray<string>>>) => folderCycles(new Map(Object.entries(imports)))

describe("cycles of folders", () => {
  it("finds none where folders import one another in one direction", () => {
    const found = cyclesOf({ "src/index.ts": ["src/a/A.ts"], "src/a/A.ts": ["src/b/B.ts"], "src/b/B.ts": ["src/b/C.ts"], "src/b/C.ts": [] })
    assert.deepStrictEqual(found, [])
  })

  it("names the folders, and the imports between their files, where no two files import each other", () => {
    const found = cyclesOf({ "src/a/A.ts": ["src/b/B.ts"], "src/a/C.ts": [], "src/b/B.ts": [], "src/b/D.ts": ["src/a/C.ts"] })
    assert.deepStrictEqual(found, [
      { cycle: ["src/a", "src/b"], because: ["src/a/A.ts imports src/b/B.ts", "src/b/D.ts imports src/a/C.ts"] },
    ])
  })

  it("looks at the folders inside a folder too, also against a file beside them", () => {
    const found = cyclesOf({
      "src/extract/Fact.ts": [],
      "src/extract/model/Model.ts": ["src/extract/Fact.ts", "src/extract/rules/Words.ts"],
      "src/extract/rules/Rules.ts": ["src/extract/Reader.ts"],
      "src/extract/rules/Words.ts": [],
      "src/extract/Reader.ts": ["src/extract/rules/Words.ts"],
    })
    assert.deepStrictEqual(
      found.map(({ cycle }) => cycle),
      [["src/extract/Reader.ts", "src/extract/rules"]],
    )
  })

  it("lets a file at the root be imported by one folder and import another", () => {
    assert.deepStrictEqual(cyclesOf({ "src/Main.ts": ["src/a/A.ts"], "src/a/A.ts": [], "src/b/B.ts": ["src/Main.ts"] }), [])
  })

  it("names one import of the same step once, and each folder with a cycle", () => {
    const found = cyclesOf({
      "src/a/A.ts": ["src/b/B.ts", "src/b/D.ts"],
      "src/a/C.ts": [],
      "src/b/B.ts": [],
      "src/b/D.ts": ["src/a/C.ts"],
      "testing/x/X.ts": ["testing/y/Y.ts"],
      "testing/x/Z.ts": [],
      "testing/y/Y.ts": [],
      "testing/y/W.ts": ["testing/x/Z.ts"],
    })
    assert.deepStrictEqual(
      found.map(({ because }) => because.length),
      [2, 2],
    )
  })
})
