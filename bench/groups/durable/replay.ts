/** An instance of 100,000 events: the time to open it from its journal and from a snapshot. */
import type { Part } from "../../measure/Group.ts"
import { type Player, startPlayer, withPlayers } from "../../measure/Player.ts"
import { withPostgres } from "../../measure/Postgres.ts"
import { median } from "../../measure/Statistics.ts"
import { type Table, times } from "../../measure/Table.ts"
import { temporaryFolder } from "../../measure/TemporaryFolder.ts"
import type { Replaying } from "./contestants/detentReplay.ts"

const events = 100_000

interface Opened {
  readonly whole: number
  readonly snapshot: number
  /** With a snapshot, as the first instance that an engine opens. */
  readonly first: number
}

export const replay: Part = ({ quick }) =>
  withPostgres(async (server) => {
    const folder = temporaryFolder()
    const module = new URL("./contestants/detentReplay.ts", import.meta.url).href
    const starting = [
      startPlayer<Replaying>("PostgreSQL", module, "postgres", { database: await server.createDatabase("replay") }),
      startPlayer<Replaying>("SQLite", module, "sqlite", { database: folder.file("replay.db") }),
    ]
    const results = await withPlayers(starting, async (players) => {
      const results = new Map<string, Opened>()
      for (const player of players) results.set(player.name, await openInTurns(player, quick ? 5 : 15))
      return results
    })
    folder.remove()
    const { whole = Number.NaN, snapshot = Number.NaN, first = Number.NaN } = results.get("PostgreSQL") ?? {}
    const table: Table = {
      title: "An instance of 100,000 events of 200 bytes, opened by a new engine",
      columns: [
        "",
        "from the journal, ms",
        "events per second",
        "with a snapshot, ms",
        "faster by",
        "as the engine's first, ms",
        "faster by",
      ],
      rows: [...results].map(([name, { whole, snapshot, first }]) => [
        name,
        whole.toFixed(0),
        ((events / whole) * 1000).toFixed(0),
        snapshot.toFixed(2),
        times(whole / snapshot),
        first.toFixed(2),
        times(whole / first),
      ]),
    }
    return {
      tables: [table],
      figures: {
        "replay.eventsPerSecond": (events / whole) * 1000,
        "snapshotOpen.speedup": whole / snapshot,
        "snapshotOpen.millis": snapshot,
        "snapshotOpen.firstSpeedup": whole / first,
      },
    }
  })

const openInTurns = async (player: Player<Replaying>, turns: number): Promise<Opened> => {
  const whole: Array<number> = []
  const snapshot: Array<number> = []
  const first: Array<number> = []
  await player.tell("prepare", events)
  for (let turn = 0; turn < turns; turn++) {
    for (const [id, openings] of [
      ["whole", whole],
      ["snapshot", snapshot],
    ] as const) {
      const opening = await player.tell("open", id, events)
      openings.push(opening.next)
      first.push(opening.first)
    }
  }
  return { whole: median(whole), snapshot: median(snapshot), first: median(first) }
}
