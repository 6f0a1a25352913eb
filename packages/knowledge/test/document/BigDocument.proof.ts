import { execFile } from "node:child_process"
import { once } from "node:events"
import { createWriteStream, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

const folder = mkdtempSync(join(tmpdir(), "detent-big-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A file of the same lines over and over. */
const write = async (name: string, head: string, line: string, size: number): Promise<string> => {
  const path = join(folder, name)
  const file = createWriteStream(path)
  file.write(head)
  const block = line.repeat(Math.ceil(1_000_000 / Buffer.byteLength(line)))
  for (let written = 0; written < size; written += Buffer.byteLength(block)) if (!file.write(block)) await once(file, "drain")
  file.end()
  await once(file, "finish")
  return path
}

const readBig = (path: string) =>
  Effect.promise(async () => {
    const worker = [join(import.meta.dirname, "bigWorker.ts"), path]
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ["--max-old-space-size=96", ...worker])
    assert.strictEqual(stderr.replace(/.*(Warning:|trace-warnings).*\n/g, ""), "")
    return JSON.parse(stdout) as { readonly characters: number; readonly megabytes: number }
  })

describe("a large document", () => {
  it.live("of 100 MB of plain text is read in little memory", () =>
    Effect.gen(function* () {
      const path = yield* Effect.promise(() => write("big.txt", "", "Åse of Port Verran, 東京 👩‍🚀, sailed on the Halcyon.\n", 100_000_000))
      const { characters, megabytes } = yield* readBig(path)
      assert.isAbove(characters, 70_000_000)
      assert.isBelow(megabytes, 400)
    }),
  )

  it.live("of 8 MB of CSV is read in little memory", () =>
    Effect.gen(function* () {
      const path = yield* Effect.promise(() => write("big.csv", "name,note\n", 'Åse,"of ""Port"" Verran\nand beyond"\n', 8_000_000))
      const { characters, megabytes } = yield* readBig(path)
      assert.isAbove(characters, 8_000_000)
      assert.isBelow(megabytes, 400)
    }),
  )
})
