/**
 * Writes items in the format of Hacker News, one per line, to standard output.
 *
 * Run it: `npx node examples/readme/items.ts 100000 > items.jsonl`
 */
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { generateText } from "@detent/uploads/generate"

const items = Number(process.argv[2] ?? 1000)
await pipeline(Readable.from(generateText({ items, layout: "lines" }), { objectMode: false }), process.stdout)
