/** Lets contestants write as much as they can, in turns, and measures the cost of each write. */
import { type Player, startPlayer, withPlayers } from "../../measure/Player.ts"
import type { Postgres } from "../../measure/Postgres.ts"
import { median } from "../../measure/Statistics.ts"
import type { Throughput, ThroughputOptions } from "./Throughput.ts"

export interface Entrant extends ThroughputOptions {
  readonly name: string
  /** A file of contestants/, and the name of its export. */
  readonly from: readonly [file: string, name: string]
}

/** Many short turns, so that a disturbance of a second affects every contestant. */
export interface Turns {
  readonly turns: number
  readonly warmUpMillis: number
  readonly turnMillis: number
}

/** Medians over the turns. Costs are per write. */
export interface Result {
  readonly perSecond: number
  readonly nodeMicros: number
  readonly postgresMicros: number
  readonly walBytes: number
}

export const start = (entrant: Entrant): Promise<Player<Throughput>> => {
  const [file, name] = entrant.from
  const { database, concurrency } = entrant
  return startPlayer(entrant.name, new URL(`./contestants/${file}`, import.meta.url).href, name, { database, concurrency })
}

/** The results of all contestants, by name. Fails where a counted write is not in the database. */
export const contest = (
  server: Postgres,
  entrants: ReadonlyArray<Entrant>,
  { turns, warmUpMillis, turnMillis }: Turns,
): Promise<ReadonlyMap<string, Result>> =>
  withPlayers(entrants.map(start), async (players) => {
    for (const player of players) await player.tell("play", warmUpMillis)
    const results = new Map(players.map((player) => [player.name, [] as Array<Result>]))
    for (let turn = 0; turn < turns; turn++) {
      for (const player of players) results.get(player.name)?.push(await playOnce(server, player, turnMillis))
    }
    for (const player of players) await player.tell("verify")
    return new Map([...results].map(([name, all]) => [name, middle(all)]))
  })

const playOnce = async (server: Postgres, player: Player<Throughput>, turnMillis: number): Promise<Result> => {
  const walBefore = await server.walBytes()
  const cpuBefore = server.cpuMicros()
  const { done, millis, cpuMicros } = await player.tell("play", turnMillis)
  const cpu = server.cpuMicros() - cpuBefore
  const wal = (await server.walBytes()) - walBefore
  return { perSecond: (done / millis) * 1000, nodeMicros: cpuMicros / done, postgresMicros: cpu / done, walBytes: wal / done }
}

const middle = (all: ReadonlyArray<Result>): Result => ({
  perSecond: median(all.map((one) => one.perSecond)),
  nodeMicros: median(all.map((one) => one.nodeMicros)),
  postgresMicros: median(all.map((one) => one.postgresMicros)),
  walBytes: median(all.map((one) => one.walBytes)),
})

/**
 * Syncs of the write-ahead log per write. The server's processes report their syncs when they end, so this measures the whole
 * life of a contestant, while no other contestant uses the server; creating its tables is included.
 */
export const syncsOf = async (server: Postgres, entrant: Entrant, millis: number): Promise<number> => {
  const before = await server.walSyncs()
  const stored = await withPlayers([start(entrant)], async (players) => {
    let done = 0
    for (const player of players) done += (await player.tell("play", millis)).done
    return done
  })
  await settled(server)
  return ((await server.walSyncs()) - before) / stored
}

/** Waits until the number of syncs no longer changes. */
const settled = async (server: Postgres) => {
  for (let last = -1, now = await server.walSyncs(); now !== last; ) {
    await new Promise((resolve) => setTimeout(resolve, 250))
    last = now
    now = await server.walSyncs()
  }
}
