import { createHash } from "node:crypto"
import { statSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { setTimeout as sleep } from "node:timers/promises"
import { gzipSync } from "node:zlib"
import { behind, localFile, openRows, type Position, type Row } from "@detent/tables"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { defaultLimits, tableLimits, type UploadLimits } from "../../src/file/UploadLimits.ts"
import { writeItemFile } from "../../src/generate/index.ts"
import { freshFolder } from "../support/Databases.ts"

interface Opening {
  readonly path: string
  readonly packed: boolean
  readonly layout?: "array" | "lines"
  readonly limits?: Partial<UploadLimits>
  readonly from?: Position
}

const openItems = ({ path, packed, layout = "array", limits = {}, from }: Opening) =>
  openRows({
    file: localFile(path),
    format: { format: layout === "array" ? "json" : "json-lines", compression: packed ? "gzip" : "none", encoding: "utf-8" },
    limits: tableLimits({ ...defaultLimits, ...limits }),
    ...(from === undefined ? {} : { from }),
  })

const takeAll = (items: Effect.Success<ReturnType<typeof openItems>>, limit: number) =>
  Effect.gen(function* () {
    const all: Array<Row> = []
    for (;;) {
      const page = yield* items.take(limit)
      if (page.length === 0) return all
      all.push(...page)
    }
  })

describe("the items of a file", () => {
  it.effect.each([
    ["an array", "array", false],
    ["lines", "lines", false],
    ["a packed array", "array", true],
    ["packed lines", "lines", true],
  ] as const)("%s is read to its end with its MD5, and from behind any item", ([, layout, gzip]) =>
    Effect.gen(function* () {
      const path = `${yield* freshFolder}/items`
      yield* Effect.promise(() => writeItemFile(path, { items: 3000, layout, gzip }))
      const file = { path, packed: gzip, layout }
      const items = yield* openItems(file)
      const all = yield* takeAll(items, 500)
      expect(all.map(({ index }) => index)).toEqual(Array.from({ length: 3000 }, (_, index) => index))
      expect(items.format()).toBe(layout === "array" ? "json" : "json-lines")
      const bytes = yield* Effect.promise(() => import("node:fs/promises").then(({ readFile }) => readFile(path)))
      expect(yield* items.md5).toBe(createHash("md5").update(bytes).digest("hex"))
      for (const index of [0, 1, 1499, 2998, 2999]) {
        const rest = yield* openItems({ ...file, from: behind(all[index] as Row) })
        expect(yield* takeAll(rest, 500)).toEqual(all.slice(index + 1))
      }
    }),
  )

  it.live.each([
    ["plain", false],
    ["packed", true],
  ] as const)("nothing is read that nobody waits for: %s", ([, gzip]) =>
    Effect.gen(function* () {
      const path = `${yield* freshFolder}/items`
      yield* Effect.promise(() => writeItemFile(path, { items: 40_000, gzip }))
      const { size } = statSync(path)
      const items = yield* openItems({ path, packed: gzip })
      yield* items.take(1)
      yield* Effect.promise(() => sleep(100))
      expect(items.readBytes()).toBeLessThan(1_500_000)
      expect(size).toBeGreaterThan(2_000_000)
      yield* items.take(5000)
      yield* Effect.promise(() => sleep(100))
      expect(items.readBytes()).toBeLessThan(size)
    }),
  )

  it.effect("items as small as a digit come in pages no larger than asked for", () =>
    Effect.gen(function* () {
      const path = `${yield* freshFolder}/items`
      const count = 300_000
      yield* Effect.promise(() => writeFile(path, `[${"1,".repeat(count - 1)}1]`))
      const items = yield* openItems({ path, packed: false })
      let taken = 0
      for (let page = yield* items.take(2000); page.length > 0; page = yield* items.take(2000)) {
        expect(page.length).toBeLessThanOrEqual(2000)
        expect(page[0]?.index).toBe(taken)
        taken += page.length
      }
      expect(taken).toBe(count)
    }),
  )

  it.effect("a few large items are a page, so that memory holds", () =>
    Effect.gen(function* () {
      const path = `${yield* freshFolder}/items`
      const large = JSON.stringify({ id: 1, type: "story", text: "x".repeat(900_000) })
      yield* Effect.promise(() => writeFile(path, `[${Array.from({ length: 20 }, () => large).join(",")}]`))
      const items = yield* openItems({ path, packed: false })
      const page = yield* items.take(1000)
      expect(page.length).toBeGreaterThan(0)
      expect(page.length).toBeLessThan(7)
      expect(yield* takeAll(items, 1000)).toHaveLength(20 - page.length)
    }),
  )

  it.effect("a file that is not there, no gzip, or too large has an error of its own", () =>
    Effect.gen(function* () {
      const folder = yield* freshFolder
      const path = `${folder}/items`
      const taken = (packed: boolean, name = path, more = {}) =>
        Effect.flatMap(openItems({ path: name, packed, limits: more }), (items) => Effect.flip(items.take(10)))
      expect(yield* taken(false, `${folder}/missing`)).toMatchObject({ _tag: "FileUnreadable", problem: "there is no such file" })
      expect(yield* taken(true, `${folder}/missing`)).toMatchObject({ _tag: "FileUnreadable", problem: "there is no such file" })
      yield* Effect.promise(() => writeFile(path, "[1, 2, 3]"))
      expect(yield* taken(true)).toMatchObject({ _tag: "FileInvalid", problem: expect.stringContaining("cannot be unpacked") })
      expect(yield* taken(false, path, { maxFileBytes: 5 })).toMatchObject({ _tag: "FileTooLarge", limit: 5 })
      yield* Effect.promise(() => writeFile(path, gzipSync("[1, 2, 3]").subarray(0, 20)))
      expect(yield* taken(true)).toMatchObject({ _tag: "FileInvalid", problem: expect.stringContaining("unexpected end of file") })
    }),
  )
})
