/** Many timers, all due at the same time. */
import type { Part } from "../../measure/Group.ts"
import { startPlayer, withPlayers } from "../../measure/Player.ts"
import { withPostgres } from "../../measure/Postgres.ts"
import { median } from "../../measure/Statistics.ts"
import type { Table } from "../../measure/Table.ts"
import type { Fired, Lateness, Spread } from "./Lateness.ts"

const contestants = { detent: "detentTimers.ts", "graphile-worker": "graphile.mts", "pg-boss": "pgBoss.mts" }

type Name = keyof typeof contestants

const moments = ["called", "stored"] as const
type Moment = (typeof moments)[number]

interface Round {
  readonly count: number
  /** Enough time for every contestant to set all timers. */
  readonly leadMillis: number
  readonly turns: number
}

const roundsOf = (quick: boolean): ReadonlyArray<Round> => [
  { count: 1000, leadMillis: 1500, turns: quick ? 5 : 9 },
  { count: 20_000, leadMillis: 8000, turns: quick ? 3 : 7 },
]

export const timers: Part = ({ quick }) =>
  withPostgres(async (server) => {
    const databases = new Map<string, string>()
    for (const name of Object.keys(contestants)) databases.set(name, await server.createDatabase(name.replace("-", "_")))
    const starting = Object.entries(contestants).map(([name, file]) =>
      startPlayer<Lateness>(name, new URL(`./contestants/${file}`, import.meta.url).href, "timers", { database: databases.get(name) }),
    )
    return withPlayers(starting, async (players) => {
      const results = new Map<string, Fired>()
      const rounds = roundsOf(quick)
      for (const player of players) await player.tell("fire", 1000, 2000)
      for (const { count, leadMillis, turns } of rounds) {
        const fired = new Map(players.map(({ name }) => [name, [] as Array<Fired>]))
        for (let turn = 0; turn < turns; turn++) {
          for (const player of players) fired.get(player.name)?.push(await player.tell("fire", count, leadMillis))
        }
        for (const [name, all] of fired) results.set(`${name} ${count}`, summary(all))
      }
      const of = (name: Name, count: number) => results.get(`${name} ${count}`) as Fired
      const ratio = (name: Name, count: number, moment: Moment) => of("detent", count)[moment].p99 / of(name, count)[moment].p99
      const worst = (name: Name, moment: Moment) => Math.max(...rounds.map(({ count }) => ratio(name, count, moment)))
      const ours = rounds.map(({ count }) => of("detent", count))
      return {
        tables: rounds.map(({ count }) => table(count, (name) => of(name, count))),
        figures: {
          // A timer has fired when its code is called. The time until the result is stored is a separate figure.
          "timersP99.vsGraphile": worst("graphile-worker", "called"),
          "timersP99.vsPgBoss": worst("pg-boss", "called"),
          "timersP99.stored.vsGraphile": worst("graphile-worker", "stored"),
          "timersP99.stored.vsPgBoss": worst("pg-boss", "stored"),
          ...Object.fromEntries(
            rounds.flatMap(({ count }) =>
              moments.flatMap((moment) => [
                [`timersP99.${moment}.vsGraphile.${count}`, ratio("graphile-worker", count, moment)],
                [`timersP99.${moment}.vsPgBoss.${count}`, ratio("pg-boss", count, moment)],
                [`timersP99.${moment}.millis.${count}`, of("detent", count)[moment].p99],
              ]),
            ),
          ),
          "timers.wrong": ours.reduce((sum, { early, repeated, missing }) => sum + early + repeated + missing, 0),
        },
      }
    })
  })

/** Medians of the times, and sums of the errors. */
const summary = (all: ReadonlyArray<Fired>): Fired => {
  const spread = (moment: Moment): Spread => {
    const middle = (key: keyof Spread) => median(all.map((one) => one[moment][key]))
    return { median: middle("median"), p99: middle("p99"), last: middle("last") }
  }
  const sum = (key: "early" | "repeated" | "missing") => all.reduce((total, one) => total + one[key], 0)
  return { called: spread("called"), stored: spread("stored"), early: sum("early"), repeated: sum("repeated"), missing: sum("missing") }
}

const table = (count: number, of: (name: Name) => Fired): Table => ({
  title: `${count.toLocaleString("en")} timers due at the same time, PostgreSQL: lateness in ms`,
  columns: [
    "",
    "called, p99",
    "detent's share",
    "stored, median",
    "stored, p99",
    "last",
    "detent's share of p99",
    "early",
    "twice",
    "missing",
  ],
  rows: Object.keys(contestants).map((key) => {
    const name = key as Name
    const { called, stored, early, repeated, missing } = of(name)
    const share = (moment: Moment) => (of("detent")[moment].p99 / of(name)[moment].p99).toFixed(2)
    return [
      name,
      called.p99.toFixed(0),
      share("called"),
      stored.median.toFixed(0),
      stored.p99.toFixed(0),
      stored.last.toFixed(0),
      share("stored"),
      String(early),
      String(repeated),
      String(missing),
    ]
  }),
  notes: [
    "Called: the user's code has started: detent's transition, the others' job handler. Stored: the result is in the database and",
    "acknowledged: the transition with its event, the completion of the job. A transition is visible only then.",
    "graphile-worker polls every 50 ms and logs no successes; pg-boss polls every 500 ms, its minimum.",
  ],
})
