/** Fifty charts at work at once, each sent its next event when the last one is stored. */
import type { Part } from "../../measure/Group.ts"
import { startPlayer, withPlayers } from "../../measure/Player.ts"
import { withPostgres } from "../../measure/Postgres.ts"
import { median } from "../../measure/Statistics.ts"
import { times } from "../../measure/Table.ts"
import type { Throughput } from "../durable/Throughput.ts"

const concurrency = 50
const entrants = [
  ["detent", "detent.ts", "postgres"],
  ["XState, its snapshot written by hand", "byHand.mts", "pooled"],
  ["the same, 50 connections", "byHand.mts", "connected"],
] as const

export const durable: Part = ({ quick }) =>
  withPostgres(async (server) => {
    const starting = entrants.map(async ([name, file, exported], index) => {
      const database = await server.createDatabase(`entrant_${index}`)
      const url = new URL(`./contestants/${file}`, import.meta.url).href
      return startPlayer<Throughput>(name, url, exported, { database, concurrency })
    })
    const perSecond = await withPlayers(starting, async (players) => {
      for (const player of players) await player.tell("play", quick ? 500 : 2000)
      const results = players.map(() => [] as Array<number>)
      for (let turn = 0; turn < (quick ? 5 : 25); turn++) {
        for (const [index, player] of players.entries()) {
          const { done, millis } = await player.tell("play", quick ? 400 : 800)
          results[index]?.push((done / millis) * 1000)
        }
      }
      for (const player of players) await player.tell("verify")
      return results.map(median)
    })
    const [ours = Number.NaN, byHand = Number.NaN, connected = Number.NaN] = perSecond
    return {
      tables: [
        {
          title: "PostgreSQL, fsync on: 50 checkouts at once, payment and shipping in parallel",
          columns: ["", "transitions per second", "detent is faster by"],
          rows: entrants.map(([name], index) => [name, (perSecond[index] ?? 0).toFixed(0), times(ours / (perSecond[index] ?? 1))]),
          notes: [
            "By hand: one prepared update of the row with the persisted snapshot after each transition, on the pool of pg as it comes.",
          ],
        },
      ],
      figures: { "durable.perSecond": ours, "durable.vsPersistByHand": ours / byHand, "durable.vsFiftyConnections": ours / connected },
    }
  })
