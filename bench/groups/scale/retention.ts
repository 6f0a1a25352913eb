/** Retention while others write: what it costs them, how fast it removes, and whether the room is used again. */
import type { Part } from "../../measure/Group.ts"
import { type Player, withPlayers } from "../../measure/Player.ts"
import { type Client, withPostgres } from "../../measure/Postgres.ts"
import { startProgress } from "../../measure/Progress.ts"
import { median } from "../../measure/Statistics.ts"
import type { Table } from "../../measure/Table.ts"
import type { Populated, Sent } from "./contestants/populated.ts"
import { fillDatabase, fittingDisk, grouped, serverSettings, startPopulated } from "./filling.ts"
import { sizesOf } from "./growth.ts"

const lengthOf = (quick: boolean) =>
  quick ? { most: 20_000, turns: 5, turnMillis: 500 } : { most: 1_000_000, turns: 15, turnMillis: 1000 }

export const retention: Part = ({ quick }) =>
  withPostgres(async (server) => {
    const length = lengthOf(quick)
    const total = fittingDisk(length.most)
    const { client, url } = await fillDatabase(server, "retention", total)
    const before = await sizeOf(client)
    return withPlayers([startPopulated("writers", url), startPopulated("retention", url)], async ([writers, purger]) => {
      if (writers === undefined || purger === undefined) throw new Error("a process did not start")
      await writers.tell("choose", total, 1000)
      await writers.tell("send", length.turnMillis * 2)
      const progress = startProgress("writes alone, beside retention, and after it", 3)
      const alone = await turnsOf(writers, length.turns, length.turnMillis)
      progress.advance(1)
      const { removed, millis, beside } = await writeWhilePurging(writers, purger, length.turnMillis)
      progress.advance(1)
      await client.query("vacuum (analyze)")
      const after = await sizeOf(client)
      const again = await turnsOf(writers, length.turns, length.turnMillis)
      await writers.tell("verifySent")
      progress.advance(1)
      progress.end()
      if (removed !== total / 2) throw new Error(`${total / 2} instances had ended, ${removed} were removed`)
      const rate = (all: ReadonlyArray<Sent>) => median(all.map((one) => (one.done / one.millis) * 1000))
      const wait = (all: ReadonlyArray<Sent>) => median(all.map((one) => one.p99Millis))
      const row = (name: string, all: ReadonlyArray<Sent>, ...rest: ReadonlyArray<string>) => [
        name,
        grouped(rate(all)),
        wait(all).toFixed(1),
        ...rest,
      ]
      const table: Table = {
        title: `Retention of ${grouped(removed)} instances that have ended, among ${grouped(total)}, while 50 callers write; PostgreSQL`,
        columns: ["", "transitions per second", "p99 of a send, ms", "removed per second", "MB of all tables"],
        rows: [
          row("before", alone, "", (before / 1e6).toFixed(0)),
          row("beside retention", beside, grouped((removed / millis) * 1000), ""),
          row("after, vacuumed", again, "", (after / 1e6).toFixed(0)),
        ],
        notes: [
          "Retention runs in a process of its own, 500 instances in a transaction, with their events, snapshots, timers and rows of the",
          "listing. PostgreSQL uses the room of removed rows again, and returns to the disk only what is free at the end of a file.",
        ],
      }
      return {
        tables: [table],
        figures: {
          "retention.removedPerSecond": (removed / millis) * 1000,
          "retention.writesBesideVsAlone": rate(beside) / rate(alone),
          "retention.writesAfterVsBefore": rate(again) / rate(alone),
          "retention.p99Millis": wait(beside),
        },
      }
    })
  }, serverSettings)

const turnsOf = async (writers: Player<Populated>, turns: number, millis: number): Promise<ReadonlyArray<Sent>> => {
  const all: Array<Sent> = []
  for (let turn = 0; turn < turns; turn++) all.push(await writers.tell("send", millis))
  return all
}

const writeWhilePurging = async (writers: Player<Populated>, purger: Player<Populated>, turnMillis: number) => {
  let isOver = false
  const purging = purger.tell("purge").finally(() => {
    isOver = true
  })
  const beside: Array<Sent> = []
  do beside.push(await writers.tell("send", Math.min(turnMillis, 300)))
  while (!isOver)
  return { ...(await purging), beside }
}

const sizeOf = async (client: Client): Promise<number> =>
  (await sizesOf(client)).reduce((sum, { heapBytes, indexBytes }) => sum + heapBytes + indexBytes, 0)
