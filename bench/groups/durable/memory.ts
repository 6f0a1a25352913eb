/** Ten thousand live instances with timers: the heap of each, and the transitions per second of all. */
import type { Part } from "../../measure/Group.ts"
import { startPlayer, withPlayers } from "../../measure/Player.ts"
import { withPostgres } from "../../measure/Postgres.ts"
import { inTurns } from "../../measure/Processes.ts"
import type { Population } from "./contestants/detentPopulation.ts"

const count = 10_000

export const memory: Part = ({ quick }) =>
  withPostgres(async (server) => {
    let turns = 0
    const measure = async () => {
      const module = new URL("./contestants/detentPopulation.ts", import.meta.url).href
      const database = await server.createDatabase(`population_${turns++}`)
      return withPlayers([startPlayer<Population>("detent", module, "population", { database })], async ([player]) => {
        if (player === undefined) throw new Error("no player has started")
        const { heapBytes, stateBytes } = await player.tell("start", count)
        await player.tell("send", "Note", 1000)
        const { perSecond: notes } = await player.tell("send", "Note", quick ? 2000 : 5000)
        const { perSecond: moves } = await player.tell("send", "Turn", quick ? 2000 : 5000)
        return { heapBytes, stateBytes, notes, moves }
      })
    }
    const { detent: { heapBytes = Number.NaN, stateBytes = Number.NaN, notes = Number.NaN, moves = Number.NaN } = {} } = await inTurns(
      { detent: measure },
      quick ? 2 : 5,
    )
    return {
      tables: [
        {
          title: "10,000 live instances with a timer each, PostgreSQL",
          columns: ["", "heap bytes each", "its state alone", "events that stay, per second", "transitions with a new timer, per second"],
          rows: [["detent", heapBytes.toFixed(0), stateBytes.toFixed(0), notes.toFixed(0), moves.toFixed(0)]],
          notes: ["Heap after a full collection. All instances send at once, each its next event when the last one is stored."],
        },
      ],
      figures: {
        "instance.heapBytes": heapBytes - stateBytes,
        "instance.transitionsPerSecond": notes,
        "instance.transitionsWithTimerPerSecond": moves,
      },
    }
  })
