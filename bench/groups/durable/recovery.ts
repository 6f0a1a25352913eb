/** A thousand instances of ten events, in a process that is killed halfway and restarted. */
import type { Part } from "../../measure/Group.ts"
import { startPlayer, withPlayers } from "../../measure/Player.ts"
import { type Postgres, withPostgres } from "../../measure/Postgres.ts"
import { median } from "../../measure/Statistics.ts"
import type { Table } from "../../measure/Table.ts"
import { temporaryFolder } from "../../measure/TemporaryFolder.ts"
import type { Surviving } from "./Surviving.ts"

const contestants = { detent: "detentSurvival.ts", DBOS: "dbosSurvival.mts" }

export const recovery: Part = ({ quick }) =>
  withPostgres(async (server) => {
    const rounds = new Map(Object.keys(contestants).map((name) => [name, [] as Array<Round>]))
    for (let turn = 0; turn < (quick ? 3 : 5); turn++) {
      for (const [name, file] of Object.entries(contestants)) {
        // When quick, DBOS has one turn, because it takes most of the time.
        if (quick && turn > 0 && name !== "detent") continue
        rounds.get(name)?.push(await surviveOnce(server, name, file))
      }
    }
    const of = (name: keyof typeof contestants, key: keyof Round) => median((rounds.get(name) ?? []).map((round) => round[key]))
    const lost = (name: keyof typeof contestants) => (rounds.get(name) ?? []).reduce((sum, round) => sum + round.lost, 0)
    const table: Table = {
      title: "1,000 instances (workflows) of 10 events (steps), killed with -9 at half, started again; PostgreSQL",
      columns: ["", "first half, ms", "the rest after the kill, ms", "first progress, ms", "lost"],
      rows: Object.keys(contestants).map((key) => {
        const name = key as keyof typeof contestants
        const numbers = (["firstHalf", "secondHalf", "firstProgress"] as const).map((each) => of(name, each).toFixed(0))
        return [name, ...numbers, String(lost(name))]
      }),
      notes: [
        "Both halves are timed from the start of the engine, connecting included, in a process whose modules are loaded.",
        "Lost: steps that were acknowledged and are not in the database.",
      ],
    }
    return {
      tables: [table],
      figures: {
        "recovery.lost": lost("detent"),
        "recovery.speedVsDbos": of("DBOS", "secondHalf") / of("detent", "secondHalf"),
        "recovery.secondVsFirstHalf": of("detent", "secondHalf") / of("detent", "firstHalf"),
        "recovery.firstProgressMillis": of("detent", "firstProgress"),
        "recovery.millis": of("detent", "secondHalf"),
      },
    }
  })

interface Round {
  readonly firstHalf: number
  readonly secondHalf: number
  readonly firstProgress: number
  readonly lost: number
}

let databases = 0

/** One round, on a new database. */
const surviveOnce = async (server: Postgres, name: string, file: string): Promise<Round> => {
  const folder = temporaryFolder()
  const options = { database: await server.createDatabase(`survival_${databases++}`), notes: folder.file("notes") }
  const start = () => startPlayer<Surviving>(name, new URL(`./contestants/${file}`, import.meta.url).href, "surviving", options)
  const { millis: firstHalf } = await withPlayers([start()], async (players) => {
    const [first] = await Promise.all(players.map((player) => player.tell("begin")))
    await Promise.all(players.map((player) => player.kill()))
    return first as { readonly millis: number }
  })
  const [second] = await withPlayers([start()], (players) => Promise.all(players.map((player) => player.tell("resume"))))
  folder.remove()
  if (second === undefined) throw new Error(`${name} did not restart`)
  return { firstHalf, secondHalf: second.millis, firstProgress: second.firstProgressMillis, lost: second.lost }
}
