/** Many timers, all due at one instant. */
import type { Part } from "../../measure/Group.ts"
import { startPlayer, withPlayers } from "../../measure/Player.ts"
import { withPostgres } from "../../measure/Postgres.ts"
import { median } from "../../measure/Statistics.ts"
import type { Table } from "../../measure/Table.ts"
import type { Fired, Lateness } from "./Lateness.ts"

const contestants = { detent: "detentTimers.ts", "graphile-worker": "graphile.mts", "pg-boss": "pgBoss.mts" }

interface Round {
  readonly count: number
  /** Enough for everybody to set them all. */
  readonly leadMillis: number
  readonly turns: number
}

const roundsOf = (quick: boolean): ReadonlyArray<Round> => [
  { count: 1000, leadMillis: 1000, turns: quick ? 3 : 9 },
  { count: 20_000, leadMillis: quick ? 4000 : 6000, turns: quick ? 1 : 5 },
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
      for (const player of players) await player.tell("fire", 1000, 800)
      for (const { count, leadMillis, turns } of rounds) {
        const fired = new Map(players.map(({ name }) => [name, [] as Array<Fired>]))
        for (let turn = 0; turn < turns; turn++) {
          for (const player of players) fired.get(player.name)?.push(await player.tell("fire", count, leadMillis))
        }
        for (const [name, all] of fired) results.set(`${name} ${count}`, summary(all))
      }
      const of = (name: keyof typeof contestants, count: number) => results.get(`${name} ${count}`) as Fired
      const ratio = (name: keyof typeof contestants, count: number) => of("detent", count).p99 / of(name, count).p99
      const worst = (name: keyof typeof contestants) => Math.max(...rounds.map(({ count }) => ratio(name, count)))
      const ours = rounds.map(({ count }) => of("detent", count))
      return {
        tables: rounds.map(({ count }) => table(count, (name) => of(name, count))),
        figures: {
          "timersP99.vsGraphile": worst("graphile-worker"),
          "timersP99.vsPgBoss": worst("pg-boss"),
          ...Object.fromEntries(
            rounds.flatMap(({ count }) => [
              [`timersP99.vsGraphile.${count}`, ratio("graphile-worker", count)],
              [`timersP99.vsPgBoss.${count}`, ratio("pg-boss", count)],
              [`timersP99.millis.${count}`, of("detent", count).p99],
            ]),
          ),
          "timers.wrong": ours.reduce((sum, { early, repeated, missing }) => sum + early + repeated + missing, 0),
        },
      }
    })
  })

/** Medians of the times; of what must not happen, all of it. */
const summary = (all: ReadonlyArray<Fired>): Fired => {
  const middle = (key: keyof Fired) => median(all.map((one) => one[key]))
  const sum = (key: keyof Fired) => all.reduce((total, one) => total + one[key], 0)
  return {
    median: middle("median"),
    p99: middle("p99"),
    last: middle("last"),
    early: sum("early"),
    repeated: sum("repeated"),
    missing: sum("missing"),
  }
}

const table = (count: number, of: (name: keyof typeof contestants) => Fired): Table => ({
  title: `${count.toLocaleString("en")} timers due at one instant, PostgreSQL: lateness in ms`,
  columns: ["", "median", "p99", "last", "detent's p99 of it", "early", "twice", "missing"],
  rows: Object.keys(contestants).map((key) => {
    const name = key as keyof typeof contestants
    const { median, p99, last, early, repeated, missing } = of(name)
    const share = of("detent").p99 / p99
    return [name, median.toFixed(0), p99.toFixed(0), last.toFixed(0), share.toFixed(2), String(early), String(repeated), String(missing)]
  }),
  notes: [
    "detent's have fired when their transition is stored; the others' when their job is claimed and its handler called.",
    "graphile-worker polls every 50 ms, pg-boss every 500 ms, which is the least it allows.",
  ],
})
