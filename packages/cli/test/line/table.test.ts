import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { makeTable } from "../../src/commands.ts"

const file = join(import.meta.dirname, "../../src/line/table.json")

it("the table that help and completions read is current (npx vitest run packages/cli/test/line/table -u renews it)", async () => {
  const table = await makeTable()
  await expect(`${JSON.stringify(table, undefined, 2)}\n`).toMatchFileSnapshot(file)
  const names = table.commands.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
})
