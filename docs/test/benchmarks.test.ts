/** The page of measurements and the figures of the README come from the recorded file. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { readArguments } from "../../bench/arguments.mjs"
import { groups } from "../../bench/groups.mjs"
import { type RecordedPart, readRecording, recordPart } from "../../bench/record.mjs"
import { benchmarksPage, costFigures, withFigures } from "../generate/benchmarks.mjs"

const readme = readFileSync(join(import.meta.dirname, "..", "..", "README.md"), "utf8")

const part = (perSecond: number): RecordedPart => ({
  date: "2026-01-02",
  quick: false,
  machine: { cpu: "unknown", cores: 2, memoryGb: 8, system: "linux x64", node: "24.0.0", load: 0 },
  tables: [{ title: "Items", columns: ["", "per second"], rows: [["detent", String(perSecond)]] }],
  figures: { "items.perSecond": perSecond, "items.peakRssMb": 300 },
  goals: [{ key: "items.perSecond", atLeast: 10_000, about: "items uploaded" }],
})

it("the README has the recorded figures (npx node docs/fill.mjs renews it)", () => {
  expect(withFigures(readme)).toBe(readme)
})

it("the page of limits has the recorded figures (npx node docs/fill.mjs renews it)", () => {
  const page = readFileSync(join(import.meta.dirname, "..", "guides", "limits.md"), "utf8")
  expect(withFigures(page, costFigures)).toBe(page)
})

it("a recorded part replaces the one before it and leaves the others", () => {
  const folder = mkdtempSync(join(tmpdir(), "detent-record-"))
  try {
    const file = join(folder, "benchmarks.json")
    recordPart("uploads", "items", part(1), file)
    recordPart("durable", "timers", part(2), file)
    recordPart("uploads", "items", part(3), file)
    expect(readRecording(file)).toEqual({ uploads: { items: part(3) }, durable: { timers: part(2) } })
  } finally {
    rmSync(folder, { recursive: true })
  }
})

it("the page names command, date, machine and missed goals, and lists what is not recorded", () => {
  const page = benchmarksPage({ uploads: { items: part(9000) } })
  expect(page).toContain("npm run bench -- uploads --only items\n")
  expect(page).toContain("Measured on 2026-01-02: 2 cores, 8 GB of memory, linux x64, Node.js 24.0.0, load average 0 before the start.")
  expect(page).toContain("| Items uploaded. | 9,000 | at least 10,000 | **not met** |")
  expect(page).toContain("- `npm run bench -- durable --only timers`")
})

it("the page says why an engine is not measured", () => {
  expect(benchmarksPage({})).toContain("- Inngest: the package `inngest-cli` has no server in it; it downloads one")
})

it("--record without a group measures all groups", () => {
  const read = readArguments(["--record", "--quick"])
  expect("choices" in read ? read.choices.map(({ group }) => group) : read).toEqual(Object.keys(groups))
  expect(readArguments([])).toHaveProperty("problem")
  expect(readArguments(["machine", "--record", "--only", "decide"])).toEqual({
    choices: [{ group: "machine", quick: false, json: false, record: true, only: "decide" }],
  })
})
