/** One long text through a run in a new process, with its facts read back: peak memory and time. */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import type { Part } from "../../measure/Group.ts"
import { runNode } from "../../measure/Processes.ts"
import { temporaryFolder } from "../../measure/TemporaryFolder.ts"
import { writeText } from "./Texts.ts"

const program = join(import.meta.dirname, "extractLarge.ts")

export const large: Part = async ({ quick }) => {
  const long = await extract(quick ? 10 : 100, "names")
  // With the built-in extractor the long text would take half an hour: two shorter ones show whether memory grows with the text.
  const builtIn = quick ? [] : [await extract(2, "built-in"), await extract(8, "built-in")]
  const row = (name: string, one: Extracted) => [
    name,
    one.megabytes.toFixed(0),
    one.peakRssMb.toFixed(0),
    one.seconds.toFixed(1),
    String(one.batches),
    String(one.lines),
  ]
  return {
    tables: [
      {
        title: `One text of ${quick ? "10 MB (100 MB without --quick)" : "100 MB"} through a run on a SQLite file, and all its lines read back`,
        columns: ["extractor", "MB", "peak memory, MB", "seconds", "batches", "lines"],
        rows: [row("names", long), ...builtIn.map((one) => row("built-in, on threads", one))],
        notes: [
          "names: an extractor with one rule, so that the run is measured, not the extractor. Peak memory is that of the whole process.",
        ],
      },
    ],
    figures: {
      "large.peakRssMb": long.peakRssMb,
      "large.megabytes": long.megabytes,
      "large.megabytesPerSecond": long.megabytes / long.seconds,
      ...Object.fromEntries(builtIn.map(({ megabytes, peakRssMb }) => [`large.builtInPeakRssMb${megabytes}`, peakRssMb])),
    },
  }
}

interface Extracted {
  readonly megabytes: number
  readonly peakRssMb: number
  readonly seconds: number
  readonly batches: number
  readonly lines: number
}

const extract = async (megabytes: number, extractor: string): Promise<Extracted> => {
  const folder = temporaryFolder()
  mkdirSync(folder.file("run"))
  const file = folder.file("run/long.txt")
  await writeText(file, megabytes * 1e6)
  const {
    peakRssMb = Number.NaN,
    seconds = Number.NaN,
    batches = Number.NaN,
    lines = Number.NaN,
    // With a small heap, so that uncollected garbage does not count as required memory.
  } = await runNode(["--max-old-space-size=256", program, folder.file("run"), file, extractor])
  folder.remove()
  return { megabytes, peakRssMb, seconds, batches, lines }
}
