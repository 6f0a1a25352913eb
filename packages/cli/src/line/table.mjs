/** The declarations of all commands, in the order of the help. */
import { readFileSync } from "node:fs"

/**
 * @type {{
 *   readonly nouns: ReadonlyArray<import("./Command.ts").Noun>
 *   readonly commands: ReadonlyArray<import("./Command.ts").TableCommand>
 * }}
 */
const table = JSON.parse(readFileSync(new URL("./table.json", import.meta.url), "utf8"))

export const { nouns, commands } = table
