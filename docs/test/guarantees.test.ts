/** Every guarantee names a test that exists. */
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"

const root = join(import.meta.dirname, "../..")
const page = readFileSync(join(root, "docs/guarantees.md"), "utf8")
const rows = [...page.matchAll(/\| (?:(\w+), )?`([^`]+\.ts)`: (.+?) +\|$/gm)].map(([, name = "durable", file = "", title = ""]) => ({
  file: `packages/${name}/${file}`,
  title,
}))

it("every row of a table names a test", () => {
  const all = page.split("\n").filter((line) => line.startsWith("| ") && !/^\| (guarantee|-)/.test(line))
  expect(rows.length).toBe(all.length)
  expect(rows.length).toBeGreaterThan(20)
})

it.each(rows)("$file proves: $title", ({ file, title }) => {
  expect(globSync(file, { cwd: root })).toHaveLength(1)
  expect(readFileSync(join(root, file), "utf8")).toContain(title)
})
