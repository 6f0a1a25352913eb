/**
 * How many events one statement reads, so that they have about a million characters: a driver decodes the rows of a statement in one turn of
 * the event loop. Learnt from the events that were read last.
 */
interface Stored {
  readonly body: string
}

const targetCharacters = 1_000_000

const fewest = 1
const first = 4

/** Bounds what one statement reads where large events follow on small ones. */
const most = 1000

/** From one statement to the next. */
const fastestGrowth = 8

export const charactersOf = (events: ReadonlyArray<Stored>): number => events.reduce((sum, { body }) => sum + body.length, 0)

export class ReadSize {
  #events = first

  get events(): number {
    return this.#events
  }

  learn(events: ReadonlyArray<Stored>) {
    if (events.length === 0) return
    const fitting = Math.floor(targetCharacters / Math.max(1, charactersOf(events) / events.length))
    this.#events = Math.max(fewest, Math.min(fitting, most, this.#events * fastestGrowth))
  }
}
