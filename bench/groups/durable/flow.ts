/**
 * Commands of groups on PostgreSQL: what groups cost a queue that has none, what 10,000 of them cost, and how long a small group waits
 * beside a large one.
 */
import { type ClaimedCommand, Commands } from "@detent/store"
import * as PostgresStore from "@detent/store/PostgresStore"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { exchangeFunction } from "../../../packages/store/src/postgres/exchangeFunction.ts"
import { hasGroups } from "../../../packages/store/src/postgres/groupTurns.ts"
import type { Part } from "../../measure/Group.ts"
import { type Player, startPlayer, withPlayers } from "../../measure/Player.ts"
import { type Postgres, withPostgres } from "../../measure/Postgres.ts"
import { median } from "../../measure/Statistics.ts"
import type { Fairness, Waits } from "./Fairness.ts"

const batch = 500
const payload = JSON.stringify({ text: "x".repeat(180) })

type Use = <A>(effect: Effect.Effect<A, unknown, Commands | SqlClient>) => Promise<A>

const withStore = <A>(url: string, use: (run: Use) => Promise<A>): Promise<A> =>
  Effect.runPromise(
    Effect.provide(
      Effect.flatMap(Effect.context<Commands | SqlClient>(), (context) =>
        Effect.promise(() => use((effect) => Effect.runPromise(Effect.provide(effect, context)))),
      ),
      PostgresStore.layer({ url }),
    ),
  )

/** The claim and its index without the parts that groups have added. */
const withoutGroups = Effect.gen(function* () {
  const sql = yield* SqlClient
  const parts = [hasGroups("detent"), "and c.group_name = '' ", "pending_key = null,", " or settings.limits_groups is true"] as const
  let definition = exchangeFunction("detent")
  for (const part of parts) {
    if (!definition.includes(part)) throw new Error(`the claim has changed: it does not contain ${part}`)
    definition = definition.replaceAll(part, part === parts[0] ? "false" : "")
  }
  yield* sql.unsafe(definition.replace("create function", "create or replace function"))
  yield* sql.unsafe("drop index detent.commands_open")
  yield* sql.unsafe("create index commands_open on detent.commands (queue, priority desc, id) where finished_at is null and not waits")
})

interface Cost {
  readonly enqueueMicros: number
  readonly claimMicros: number
}

/** PostgreSQL's CPU time for each of these commands: to store it; to claim and finish it. */
const costOf = async (server: Postgres, run: Use, count: number, groups: number): Promise<Cost> => {
  const service = await run(Commands)
  const queue = "bench"
  let number = 0
  const before = server.cpuMicros()
  for (let stored = 0; stored < count; stored += batch) {
    const commands = Array.from({ length: batch }, () => {
      const key = `k${Date.now()}-${number++}`
      const group = groups === 0 ? undefined : `tenant-${number % groups}`
      const place = {
        slot: "work",
        parameters: payload,
        instance: undefined,
        priority: 0,
        ordered: false,
        runAt: undefined,
        delayMillis: 0,
      }
      return { key, queue, group, ...place }
    })
    await run(service.enqueue(commands))
  }
  const between = server.cpuMicros()
  let held: ReadonlyArray<ClaimedCommand> = []
  for (let ended = 0; ended < count; ) {
    const finished = held.map(({ number, claim }) => ({ number, claim, verdict: { _tag: "Completed" as const } }))
    const wants = [{ queue, limit: batch }]
    held = (await run(service.exchange({ worker: "bench", finished, wants, claimMillis: 60_000 }))).claimed
    ended += finished.length
  }
  return { enqueueMicros: (between - before) / count, claimMicros: (server.cpuMicros() - between) / count }
}

interface Kind {
  readonly name: string
  readonly groups: number
  readonly prepare?: Effect.Effect<unknown, unknown, Commands | SqlClient>
}

const limited = Effect.flatMap(Commands, (commands) => commands.configure("bench", { perGroup: { concurrency: 5, rate: undefined } }))

const kinds = {
  before: { name: "no groups, a claim that knows none", groups: 0, prepare: withoutGroups },
  none: { name: "no groups", groups: 0 },
  many: { name: "10,000 groups", groups: 10_000 },
  limited: { name: "10,000 groups, at most 5 commands of each at once", groups: 10_000, prepare: limited },
} satisfies Readonly<Record<string, Kind>>

type KindName = keyof typeof kinds

const costs = async (server: Postgres, count: number, turns: number): Promise<ReadonlyMap<KindName, Cost>> => {
  const names = Object.keys(kinds) as ReadonlyArray<KindName>
  const urls = new Map<KindName, string>()
  for (const name of names) urls.set(name, await server.createDatabase(`flow_${name}`))
  const found = new Map(names.map((name) => [name, [] as Array<Cost>]))
  const open = (rest: ReadonlyArray<KindName>, runs: ReadonlyMap<KindName, Use>): Promise<void> => {
    const [name, ...others] = rest
    if (name === undefined) return play(runs)
    return withStore(urls.get(name) ?? "", (run) => open(others, new Map([...runs, [name, run]])))
  }
  const play = async (runs: ReadonlyMap<KindName, Use>) => {
    for (const [name, run] of runs) {
      const { prepare }: Kind = kinds[name]
      if (prepare !== undefined) await run(prepare)
    }
    for (let turn = -1; turn < turns; turn++)
      for (const [name, run] of runs) {
        // The first turn warms up, with less to do.
        const cost = await costOf(server, run, turn < 0 ? 2000 : count, kinds[name].groups)
        if (turn >= 0) found.get(name)?.push(cost)
      }
  }
  await open(names, new Map())
  return new Map(
    [...found].map(([name, all]) => [
      name,
      { enqueueMicros: median(all.map((one) => one.enqueueMicros)), claimMicros: median(all.map((one) => one.claimMicros)) },
    ]),
  )
}

interface Waiting {
  readonly name: string
  readonly empty: Waits
  readonly beside: Waits
}

/** How long the commands of 100 small groups wait: in an empty queue, and beside a large group. */
const waits = async (server: Postgres, large: number, patienceMillis: number): Promise<ReadonlyArray<Waiting>> => {
  const entrants = [
    ["detent", "detentFairness.ts"],
    ["graphile-worker", "graphileFairness.mts"],
    ["pg-boss", "pgBossFairness.mts"],
  ] as const
  const players: Array<Promise<Player<Fairness>>> = []
  for (const [name, file] of entrants) {
    const database = await server.createDatabase(`fair_${name.replace("-", "_")}`)
    players.push(startPlayer(name, new URL(`./contestants/${file}`, import.meta.url).href, "fairness", { database }))
  }
  return withPlayers(players, async (all) => {
    const results: Array<Waiting> = []
    for (const player of all) {
      await player.tell("small", patienceMillis)
      const empty = await middleOf(() => player.tell("small", patienceMillis))
      await player.tell("large", large)
      results.push({ name: player.name, empty, beside: await middleOf(() => player.tell("small", patienceMillis)) })
    }
    return results
  })
}

/** Repeats a measurement, unless commands were missing. */
const middleOf = async (measure: () => Promise<Waits>): Promise<Waits> => {
  const all: Array<Waits> = []
  while (all.length < 5) {
    const one = await measure()
    if (one.missing > 0) return one
    all.push(one)
  }
  return { p99Millis: median(all.map(({ p99Millis }) => p99Millis)), missing: 0 }
}

const millis = ({ p99Millis, missing }: Waits): string => (missing > 0 ? `${missing} of 1,000 did not start` : p99Millis.toFixed(0))

export const flow: Part = ({ quick }) =>
  withPostgres(async (server) => {
    const [count, turns, large, patience] = quick ? [20_000, 3, 100_000, 10_000] : [50_000, 9, 1_000_000, 30_000]
    const cost = await costs(server, count, turns)
    const of = (name: KindName) => cost.get(name) as Cost
    const total = (name: KindName) => of(name).enqueueMicros + of(name).claimMicros
    const waiting = await waits(server, large, patience)
    const ours = waiting[0] as Waiting
    return {
      tables: [
        {
          title: `PostgreSQL CPU of a command, µs: ${count.toLocaleString("en")} stored, then claimed and finished, ${batch} at a time`,
          columns: ["", "stored", "claimed and finished", "together"],
          rows: (Object.keys(kinds) as ReadonlyArray<KindName>).map((name) => [
            kinds[name].name,
            of(name).enqueueMicros.toFixed(1),
            of(name).claimMicros.toFixed(1),
            total(name).toFixed(1),
          ]),
        },
        {
          title: `100 groups of ten commands beside one of ${large.toLocaleString("en")}: p99 until a command of theirs starts, ms`,
          columns: ["", "empty queue", "beside the large group"],
          rows: waiting.map(({ name, empty, beside }) => [name, millis(empty), millis(beside)]),
          notes: [
            "One process, 16 commands at a time, 5 ms each. graphile-worker and pg-boss have no order over groups: theirs is that of jobs.",
            `Those that did not start had waited for ${patience / 1000} s.`,
          ],
        },
      ],
      figures: {
        "flow.noGroups.vsBefore": of("none").claimMicros / of("before").claimMicros,
        "flow.groups.pgCpuRatio": total("many") / total("none"),
        "flow.groupLimits.pgCpuRatio": total("limited") / total("none"),
        "flow.fair.smallP99Ratio": ours.beside.p99Millis / ours.empty.p99Millis,
        "flow.fair.smallP99Millis": ours.beside.p99Millis,
      },
    }
  })
