/** The nodes as lines of text: their shards, events per second, and the last step of the scenario. */
import type { Style } from "../orders/Style.ts"
import type { Place } from "./Scenario.ts"

const barWidth = 30
const allShards = 300

export interface Rates {
  /** Events per second of each node, in the order of the nodes. */
  readonly perSecond: ReadonlyArray<number>
  readonly answered: number
}

export const picture = (
  places: ReadonlyArray<Place>,
  { perSecond, answered }: Rates,
  said: string,
  style: Style,
): ReadonlyArray<string> => [
  ...places.map(({ address, node }, index) => {
    const fate = (text: string) => text.padEnd(barWidth + 12)
    if (!node.isUp) return `  ${address}  ${node.wasKilled ? style.red(fate("killed")) : style.dim(fate("ended"))}`
    const filled = Math.round((node.shards / allShards) * barWidth)
    const bar = `${style.green("█".repeat(filled))}${style.dim("░".repeat(barWidth - filled))}`
    return `  ${address}  ${bar}  ${String(node.shards).padStart(3)} shards  ${(perSecond[index] ?? 0).toFixed(0).padStart(6)} events/s`
  }),
  "",
  `  ${answered} events answered`,
  `  ${style.dim(said)}`,
]

/** The rates since the last reading, from the totals of the nodes. */
export class Meterage {
  #last: ReadonlyArray<number> = []
  #at = 0

  read(places: ReadonlyArray<Place>, now: number): Rates {
    const totals = places.map(({ answered }) => answered.length)
    const seconds = (now - this.#at) / 1000
    const perSecond = totals.map((total, index) => (this.#at === 0 ? 0 : (total - (this.#last[index] ?? 0)) / seconds))
    this.#last = totals
    this.#at = now
    return { perSecond, answered: totals.reduce((sum, total) => sum + total, 0) }
  }
}
