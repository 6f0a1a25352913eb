/** Lets engines take turns. An engine that fails is left out of the table, and the reason is one of its notes. */
import { type Abilities, type Player, startPlayer } from "../../measure/Player.ts"
import type { Postgres } from "../../measure/Postgres.ts"
import { startProgress } from "../../measure/Progress.ts"
import type { Table } from "../../measure/Table.ts"
import { type Engine, named } from "./engines.ts"

export interface Measured<A> {
  readonly engine: Engine
  readonly results: ReadonlyArray<A>
}

export interface Contest<A> {
  readonly measured: ReadonlyArray<Measured<A>>
  /** Why engines have no figures. */
  readonly failures: ReadonlyArray<string>
}

interface Entrant<P extends Abilities, A> {
  readonly engine: Engine
  readonly player: Player<P>
  readonly results: Array<A>
}

/** `exported`: what the file of an engine exports. `verify` runs after the last turn; where it fails, the engine has no figures. */
export const playInTurns = async <P extends Abilities, A>(
  server: Postgres,
  engines: ReadonlyArray<Engine>,
  {
    title,
    exported,
    turns,
    options = {},
  }: {
    readonly title: string
    readonly exported: string
    readonly turns: number
    readonly options?: Readonly<Record<string, unknown>>
  },
  play: (player: Player<P>, turn: number) => Promise<A>,
  verify: (player: Player<P>) => Promise<unknown>,
): Promise<Contest<A>> => {
  const failures: Array<string> = []
  const fail = (engine: Engine, error: unknown) =>
    failures.push(
      `${named(engine)} was not measured: ${(error instanceof Error ? error.message : String(error)).split("\n").slice(0, 3).join(" ")}`,
    )
  const entrants: Array<Entrant<P, A>> = []
  const progress = startProgress(title, engines.length * (turns + 1))
  const players: Array<Player<P>> = []
  try {
    for (const engine of engines) {
      try {
        const database = await server.createDatabase(`${exported}_${engine.file.replace(".", "_")}`.toLowerCase())
        const module = new URL(`./contestants/${engine.file}`, import.meta.url).href
        const player = await startPlayer<P>(engine.title, module, exported, { database, ...options })
        players.push(player)
        // The first turn warms up.
        await play(player, -1)
        entrants.push({ engine, player, results: [] })
      } catch (error) {
        fail(engine, error)
      }
      progress.advance(1)
    }
    for (let turn = 0; turn < turns; turn++) {
      for (const entrant of [...entrants]) {
        try {
          entrant.results.push(await play(entrant.player, turn))
        } catch (error) {
          fail(entrant.engine, error)
          entrants.splice(entrants.indexOf(entrant), 1)
        }
        progress.advance(1)
      }
    }
    const measured: Array<Measured<A>> = []
    for (const { engine, player, results } of entrants) {
      try {
        await verify(player)
        measured.push({ engine, results })
        await player.leave()
      } catch (error) {
        fail(engine, error)
      }
    }
    progress.end()
    return { measured, failures }
  } finally {
    await Promise.all(players.map(end))
  }
}

/** How long an engine has to end by itself. */
const endMillis = 10_000

/** An engine with a server of its own stops it; killed at once, it would leave it behind. */
const end = async <P extends Abilities>(player: Player<P>): Promise<void> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, endMillis)
  })
  await Promise.race([player.leave(), late])
  clearTimeout(timer)
  await player.kill()
}

/** What a reader has to know of each engine of a table. */
export const enginesTable = (engines: ReadonlyArray<Engine>, same: ReadonlyArray<string>): Table => ({
  title: "What the engines are",
  columns: ["", "durability", "settings"],
  rows: engines.map((engine) => [named(engine), engine.durability, engine.settings]),
  notes: ["The same for all:", ...same],
})
