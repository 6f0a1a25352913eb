import { execFile } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { compareText } from "@detent/machine/internal"
import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { mergeParts, sortLines } from "../../src/rdf/LineSort.ts"

const folder = mkdtempSync(join(tmpdir(), "detent-sort-test-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const line = Arbitrary.map(
  Arbitrary.array(Arbitrary.schema(Schema.Literals(["a", "b", "é", "\uffee", "😀", " "])), { maxLength: 4 }),
  (parts) => parts.join(""),
)
const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))

describe("sorting lines", () => {
  it.prop("code points are in the order of their bytes", [line, line], ([a, b]) => {
    assert.strictEqual(Math.sign(compareText(a, b)), Math.sign(byBytes(a, b)))
  })

  it.effect.prop(
    "gives every line once and in order, however little memory there is",
    [Arbitrary.array(line, { maxLength: 60 })],
    ([lines]) =>
      Effect.gen(function* () {
        const expected = [...new Set(lines)].sort(byBytes)
        for (const options of [{}, { memory: 1, width: 2 }, { memory: 100, width: 3 }, { memory: 400 }]) {
          const sorted = yield* Stream.runCollect(sortLines(Stream.fromIterable(lines), { ...options, folder }))
          assert.deepStrictEqual(sorted, expected)
        }
      }),
    { arbitrary: { runs: 40 } },
  )

  it.live("leaves nothing on the disk, whether it ends, fails or is dropped", () =>
    Effect.gen(function* () {
      const lines = Stream.map(Stream.range(0, 5000), (number) => String((number * 7919) % 5003))
      const options = { memory: 3000, folder }
      assert.strictEqual(yield* Stream.runCount(sortLines(lines, options)), 5001)
      assert.strictEqual(yield* Stream.runCount(Stream.take(sortLines(lines, options), 3)), 3)
      const failed = yield* Effect.flip(Stream.runDrain(sortLines(Stream.concat(lines, Stream.fail("cut off" as const)), options)))
      assert.strictEqual(failed, "cut off")
      assert.deepStrictEqual(readdirSync(folder), [])
    }),
  )

  it.live("needs no more memory for more lines", () =>
    Effect.gen(function* () {
      const run = promisify(execFile)(process.execPath, ["--max-old-space-size=64", join(import.meta.dirname, "sortWorker.ts")])
      assert.strictEqual((yield* Effect.promise(() => run)).stdout, "sorted 400000\n")
    }),
  )

  it.live("says so when the folder for temporary files fails", () =>
    Effect.gen(function* () {
      const failed = yield* Effect.flip(Stream.runDrain(sortLines(Stream.make("b", "a"), { memory: 1, folder: join(folder, "missing") })))
      assert.include(failed.message, "name another folder")
    }),
  )
})

describe("merging sorted parts", () => {
  const numbers = Array.from({ length: 3000 }, (_, index) => String(index).padStart(4, "0"))

  /** Parts of one line per batch, and the names of those whose source has ended. */
  const openParts = () => {
    const ended: Array<string> = []
    const part = (name: string, failsAfter = Number.POSITIVE_INFINITY) => ({
      lines: async function* () {
        try {
          for (const [index, number] of numbers.entries()) {
            if (index === failsAfter) throw new Error(`${name} cannot be read`)
            yield [`${number} ${name}`]
          }
        } finally {
          ended.push(name)
        }
      },
    })
    return { ended, part }
  }

  it("ends the sources of all parts when the reader stops early", async () => {
    const { ended, part } = openParts()
    for await (const batch of mergeParts([part("one"), part("other")])) {
      assert.strictEqual(batch[0], "0000 one")
      break
    }
    assert.deepStrictEqual(ended.sort(), ["one", "other"])
  })

  for (const failsAfter of [0, 2000]) {
    it(`ends the sources of all parts when one fails after ${failsAfter} lines`, async () => {
      const { ended, part } = openParts()
      const drain = async () => {
        for await (const _ of mergeParts([part("one"), part("other", failsAfter)]));
      }
      const failure = await drain().catch((error: unknown) => error)
      assert.strictEqual((failure as Error).message, "other cannot be read")
      assert.deepStrictEqual(ended.sort(), ["one", "other"])
    })
  }
})
