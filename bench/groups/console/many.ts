/** Lists and counts over HTTP at 1,000,000 instances, on SQLite and, unless quick, on PostgreSQL. */
import type { Part } from "../../measure/Group.ts"
import { withPostgres } from "../../measure/Postgres.ts"
import { median } from "../../measure/Statistics.ts"
import { withServer } from "./ServerAndBrowser.ts"

const total = 1_000_000
const rounds = 40
/** Requests of each kind before the measured ones, because a server in use is warm. */
const warmUps = 20

const asked = {
  counts: "/api/v1/machines",
  newest: "/api/v1/instances?order=newest&limit=50",
  "newest of a machine": "/api/v1/instances?machine=tally&order=newest&limit=50",
  "newest in a state": "/api/v1/instances?machine=tally&state=Open&order=newest&limit=50",
  "by id": "/api/v1/instances?machine=tally&search=i-99999&limit=50",
} as const

type Name = keyof typeof asked
type Times = Readonly<Record<Name, number>>

const timesOf = async (url: string): Promise<Times> => {
  const found: Array<readonly [Name, number]> = []
  for (const [name, path] of Object.entries(asked) as ReadonlyArray<readonly [Name, string]>) {
    const millis: Array<number> = []
    for (let round = -warmUps; round < rounds; round++) {
      const begin = performance.now()
      const response = await fetch(url + path)
      const text = await response.text()
      if (!response.ok) throw new Error(`${path} was answered with ${response.status}: ${text}`)
      if (round >= 0) millis.push(performance.now() - begin)
    }
    found.push([name, median(millis)])
  }
  return Object.fromEntries(found) as Times
}

export const many: Part = async ({ quick }) => {
  const sqlite = await withServer({ kind: "many", total }, timesOf)
  const postgres = quick
    ? undefined
    : await withPostgres(async (server) => withServer({ kind: "many", total, database: await server.createDatabase("many") }, timesOf))
  const all = postgres === undefined ? [sqlite] : [sqlite, postgres]
  const slowest = (names: ReadonlyArray<Name>) => Math.max(...all.flatMap((times) => names.map((name) => times[name])))
  const names = Object.keys(asked) as ReadonlyArray<Name>
  return {
    tables: [
      {
        title: `${total.toLocaleString("en")} instances: a request over HTTP, median of ${rounds}`,
        columns: ["", "SQLite", ...(postgres === undefined ? [] : ["PostgreSQL"])],
        rows: names.map((name) => [name, ...all.map((times) => `${times[name].toFixed(2)} ms`)]),
        notes: [
          `Pages of 50 instances; times at the client, with connection, JSON and reading. ${warmUps} requests of each kind come before`,
          "the measured ones.",
        ],
      },
    ],
    figures: { "counts.millisAt1M": slowest(["counts"]), "list.millisAt1M": slowest(names.filter((name) => name !== "counts")) },
  }
}
