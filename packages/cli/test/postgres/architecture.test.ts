/** ARCHITECTURE.md beside real runs: each step of a way runs, and each file that runs is on the page. */
import { execFile } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { freshFile } from "../../../store/test/support/Sqlite.ts"

const root = join(import.meta.dirname, "../../../..")

interface Traced {
  readonly ways: Readonly<Record<string, ReadonlyArray<string>>>
}

/** The files of the packages that run on each way, on one database. */
const trace = (database: string) =>
  Effect.flatMap(freshFile, (file) =>
    Effect.promise(async () => {
      const program = join(import.meta.dirname, "ways.ts")
      const { stdout } = await promisify(execFile)(process.execPath, [program, `${file}-ways`, database], { maxBuffer: 2 ** 24 })
      return JSON.parse(stdout) as Traced
    }),
  )

interface Way {
  /** The files of its numbered steps. */
  readonly steps: ReadonlyArray<string>
}

/** Files are written from below `packages`. An item of a list may name a folder, then files of it. */
const readPage = () => {
  const page = readFileSync(join(root, "ARCHITECTURE.md"), "utf8")
  const ways = new Map<string, Way>()
  for (const section of page.split(/^## /m)) {
    const name = /^The way of an? (.*)$/m.exec(section)?.[1]
    const steps = section.split(/\n(?=\d+\. |\n)/).filter((part) => /^\d+\. /.test(part))
    if (name !== undefined) ways.set(name, { steps: steps.flatMap(filesIn) })
  }
  const inLists = page.split(/\n(?=- |\n)/).flatMap((item) => {
    const folder = /^- `([\w-]+\/src\/(?:[\w-]+\/)*)`:/.exec(item)?.[1]
    return folder === undefined ? [] : [...item.matchAll(/`([\w.-]+\.ts)`/g)].map(([, file]) => `${folder}${file}`)
  })
  return { ways, named: new Set([...filesIn(page), ...inLists]) }
}

const filesIn = (text: string): ReadonlyArray<string> => [...text.matchAll(/`([\w-]+\/src\/[\w./-]+\.ts)`/g)].map(([, file]) => file ?? "")

/** The packages whose files on a way must all be on the page. Of server and workspace the page has the steps only. */
const isOfEngine = (file: string): boolean => /^(machine|store|durable|xstate)\//.test(file)

const traced = ["event", "recovery", "timer", "command", "activity", "XState event"]

describe("the page of the architecture", () => {
  it.live("names the files that a real event, recovery, timer, command, activity and XState event run", () =>
    Effect.gen(function* () {
      const { ways, named } = readPage()
      const [sqlite, postgres] = [yield* trace("sqlite"), yield* trace(yield* freshDatabase)]
      const ranOn = (way: string) => new Set([...(sqlite.ways[way] ?? []), ...(postgres.ways[way] ?? [])])
      for (const way of traced) {
        const ran = ranOn(way)
        const { steps } = ways.get(way) ?? { steps: [] }
        assert.isAbove(steps.length, 5, `steps of the way of ${way}`)
        assert.deepStrictEqual(
          steps.filter((file) => !ran.has(file)),
          [],
          `steps that do not run on the way of ${way}`,
        )
        assert.deepStrictEqual(
          [...ran].filter((file) => isOfEngine(file) && !named.has(file)),
          [],
          `files that run on the way of ${way} and are not on the page`,
        )
      }
      assert.deepStrictEqual(
        [...named].filter((file) => !existsSync(join(root, "packages", file))),
        [],
        "files on the page that do not exist",
      )
    }),
  )
})
