import { databases } from "../support/Databases.ts"
import { killedFormats } from "./formats.ts"

// The rest is in the proof.
for (const database of databases.slice(0, 1))
  killedFormats(database, [
    { ending: "csv", encoding: "UTF-8", packing: "plain" },
    { ending: "semicolons.csv", encoding: "Latin-1", packing: "gzip" },
    { ending: "tsv", encoding: "UTF-16 LE with a mark", packing: "plain" },
    { ending: "xlsx", encoding: "UTF-8", packing: "plain" },
    { ending: "json", encoding: "UTF-16 BE", packing: "zstd" },
    { ending: "jsonl", encoding: "Latin-1", packing: "plain" },
  ])
