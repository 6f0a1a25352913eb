/** Workflows that wait: for a signal, and for a time. */
import type { Part } from "../../measure/Group.ts"
import { withPostgres } from "../../measure/Postgres.ts"
import { median } from "../../measure/Statistics.ts"
import { dbos, detent, type Engine, effect, named, restate, vercel } from "./engines.ts"
import type { Peer, Slept } from "./Peer.ts"
import { enginesTable, playInTurns } from "./playing.ts"

const engines = [detent, dbos, effect, restate, vercel]

export const signal: Part = ({ quick }) =>
  withPostgres(async (server) => {
    const { turns, waiting } = quick ? { turns: 2, waiting: 30 } : { turns: 9, waiting: 200 }
    const { measured, failures } = await playInTurns<Peer, ReadonlyArray<number>>(
      server,
      engines,
      { title: "signals", exported: "peer", turns },
      (player, turn) => player.tell("signals", turn < 0 ? 10 : waiting),
      (player) => player.tell("verify"),
    )
    const of = (engine: Engine) => {
      const all = [...(measured.find((one) => one.engine === engine)?.results.flat() ?? [])].sort((a, b) => a - b)
      return { p50: all[Math.floor(all.length * 0.5)] ?? Number.NaN, p99: all[Math.floor(all.length * 0.99)] ?? Number.NaN }
    }
    const ours = of(detent)
    return {
      tables: [
        {
          title: `A signal to a waiting workflow, one after the other, with ${waiting} that wait: ms until the code of its next step runs`,
          columns: ["", "median", "detent's share", "p99"],
          rows: measured.map(({ engine }) => {
            const { p50, p99 } = of(engine)
            return [named(engine), p50.toFixed(1), (ours.p50 / p50).toFixed(2), p99.toFixed(1)]
          }),
          notes: [
            "detent and Effect: a durable deferred; DBOS: send and recv; Restate: a durable promise, resolved by a handler of the workflow;",
            "Vercel: a hook. The waiting workflows of DBOS stay in memory.",
            ...failures,
          ],
        },
        enginesTable(engines, [
          "the signal and the wait are stored, and the code runs in a step. All workflows were found completed afterwards.",
        ]),
      ],
      figures: {
        "signal.p50Millis": ours.p50,
        "signal.p99Millis": ours.p99,
        "signal.vsDbos": ours.p50 / of(dbos).p50,
        "signal.vsEffect": ours.p50 / of(effect).p50,
        "signal.vsRestate": ours.p50 / of(restate).p50,
        "signal.vsVercel": ours.p50 / of(vercel).p50,
      },
    }
  })

export const sleepers: Part = ({ quick }) =>
  withPostgres(async (server) => {
    const count = 1000
    const turns = quick ? 2 : 7
    const { measured, failures } = await playInTurns<Peer, Slept>(
      server,
      engines,
      { title: "sleeping workflows", exported: "peer", turns },
      (player, turn) => player.tell("sleepers", turn < 0 ? 50 : count),
      (player) => player.tell("verify"),
    )
    const of = (engine: Engine) => {
      const results = measured.find((one) => one.engine === engine)?.results ?? []
      const middle = (key: keyof Slept) => (results.length === 0 ? Number.NaN : median(results.map((one) => one[key])))
      return { median: middle("median"), p99: middle("p99"), last: middle("last"), early: middle("early") }
    }
    const ours = of(detent)
    return {
      tables: [
        {
          title: `${count.toLocaleString("en")} sleeping workflows, all due at once: ms from the deadline until the code of their next step runs`,
          columns: ["", "median", "p99", "detent's share", "last", "early"],
          rows: measured.map(({ engine }) => {
            const { median, p99, last, early } = of(engine)
            return [named(engine), median.toFixed(0), p99.toFixed(0), (ours.p99 / p99).toFixed(2), last.toFixed(0), early.toFixed(0)]
          }),
          notes: ["Effect sleeps in memory for less than a minute by default; here each clock is stored, as in detent.", ...failures],
        },
        enginesTable(engines, ["the deadline is stored, and the code runs in a step. All workflows were found completed afterwards."]),
      ],
      figures: {
        "sleepers.p99Millis": ours.p99,
        "sleepers.vsDbos": ours.p99 / of(dbos).p99,
        "sleepers.vsEffect": ours.p99 / of(effect).p99,
        "sleepers.vsRestate": ours.p99 / of(restate).p99,
        "sleepers.vsVercel": ours.p99 / of(vercel).p99,
      },
    }
  })
