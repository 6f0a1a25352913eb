/** The declarations of all commands, in the order of the help. */
import { existsSync, readFileSync } from "node:fs"

const built = new URL("./table.json", import.meta.url)

// A package has the built table. In the repository, `packages/cli/build.mjs` builds it; before that, the commands themselves are loaded.
const loaded = existsSync(built) ? JSON.parse(readFileSync(built, "utf8")) : await tableOfSources()

/**
 * @type {{
 *   readonly nouns: ReadonlyArray<import("./Command.ts").Noun>
 *   readonly commands: ReadonlyArray<import("./Command.ts").Command>
 * }}
 */
const table = loaded

export const { nouns, commands } = table

async function tableOfSources() {
  const { makeTable } = await import(new URL("../commands.ts", import.meta.url).href)
  return makeTable()
}
