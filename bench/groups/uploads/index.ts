import type { Group } from "../../measure/Group.ts"
import { formats } from "./formats.ts"
import { items } from "./items.ts"

const group: Group = {
  parts: { items, formats },
  goals: [
    { key: "items.perSecond", atLeast: 10_000, about: "items uploaded, from start to completed, each with a durable instance" },
    { key: "items.peakRssMb", atMost: 512, about: "peak memory of the process, MB" },
    { key: "items.vsPlainInserts", atLeast: 0.5, about: "speed, of a plain loop of batched INSERTs of the same rows" },
    { key: "formats.csv.vsPlainInserts", atLeast: 0.45, about: "speed of CSV, of plain inserts of the same rows" },
    { key: "formats.jsonl.vsPlainInserts", atLeast: 0.45, about: "speed of lines of JSON, of plain inserts of the same rows" },
    { key: "formats.xlsx.vsPlainInserts", atLeast: 0.45, about: "speed of XLSX, of plain inserts of the same rows" },
    { key: "formats.csv.vsCsvParse", atLeast: 0.45, about: "speed of CSV, of csv-parse and plain inserts" },
    { key: "formats.xlsx.peakRssMb", atMost: 512, about: "peak memory of an upload of XLSX, MB" },
  ],
}

export default group
