import { expect, it } from "@effect/vitest"
import { makeTable } from "../../src/commands.ts"
import { commands, nouns } from "../../src/line/table.mjs"

it("the table that help and completions read is current (node packages/cli/build.mjs --always builds it)", async () => {
  const table = await makeTable()
  expect(JSON.parse(JSON.stringify(table))).toEqual({ nouns, commands })
  const names = table.commands.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
})
