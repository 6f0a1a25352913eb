/**
 * The instances that changed last. The API lists them oldest change first, so that a page never shifts under its reader; the
 * newest are found by asking for those that changed within a minute, an hour, …, until the span holds enough of them.
 */
import { pathOf } from "./asking.mjs"

/**
 * @typedef {typeof import("../../../instances/Api.ts").InstanceListing.Type} Listing
 * @typedef {{ readonly instances: ReadonlyArray<Listing>, readonly next?: string }} Page
 * @typedef {(path: string) => Promise<Page>} Ask
 */

const minute = 60_000
const spans = [minute, 60 * minute, 24 * 60 * minute, 30 * 24 * 60 * minute]

/** A span that holds more than this is made shorter: what is asked for in vain stays small. */
const limit = 100

export class Latest {
  /** @type {ReadonlyArray<Listing>} */
  #known = []
  #machine
  #wanted
  #ask

  /**
   * @param {Ask} ask
   * @param {number} wanted
   * @param {string} [machine] of this one only
   */
  constructor(ask, wanted, machine) {
    this.#ask = ask
    this.#wanted = wanted
    this.#machine = machine
  }

  /**
   * The newest first. After the first time only what changed since is asked for.
   *
   * @param {number} now
   * @returns {Promise<ReadonlyArray<Listing>>}
   */
  async look(now) {
    const newest = this.#known[0]?.updatedAt
    const found = (newest === undefined ? undefined : await this.#since(newest)) ?? (await this.#search(now))
    const merged = new Map([...this.#known, ...found].map((one) => [JSON.stringify([one.machine, one.id]), one]))
    this.#known = [...merged.values()].sort((a, b) => b.updatedAt - a.updatedAt || a.id.localeCompare(b.id)).slice(0, this.#wanted)
    return this.#known
  }

  /**
   * What changed since then, unless that is too much.
   *
   * @param {number} newest
   */
  async #since(newest) {
    // One of the same millisecond may have come after the last look.
    const page = await this.#changedAfter(newest - 1)
    if (page.next === undefined) return page.instances
    // Where very many are of that millisecond, those after it are what matters.
    const after = await this.#changedAfter(newest)
    return after.next === undefined ? after.instances : undefined
  }

  /** @param {number} now */
  async #search(now) {
    const all = await this.#changedAfter(-1)
    if (all.next === undefined) return all.instances
    let tooShort = 0
    /** @type {ReadonlyArray<Listing>} */
    let few = []
    for (const span of spans) {
      const page = await this.#changedAfter(now - span)
      if (page.next !== undefined) return this.#narrow(now, tooShort, span, few, page.instances)
      few = page.instances
      if (few.length >= this.#wanted) return few
      tooShort = span
    }
    return this.#narrow(now, tooShort, now, few, all.instances)
  }

  /**
   * Between a span that holds too few and one that holds too many. Where more than a page changed in the same millisecond no
   * span is right: then the few come first, and some of those many after them.
   *
   * @param {number} now
   * @param {number} tooShort
   * @param {number} tooLong
   * @param {ReadonlyArray<Listing>} few
   * @param {ReadonlyArray<Listing>} many
   */
  async #narrow(now, tooShort, tooLong, few, many) {
    let [short, long, newest, older] = [tooShort, tooLong, few, many]
    while (long - short > 1) {
      // Far apart they are brought near by their size, then by the milliseconds between them.
      const span = Math.round(long > 4 * Math.max(short, 1) ? Math.sqrt(Math.max(short, 1) * long) : (short + long) / 2)
      const page = await this.#changedAfter(now - span)
      if (page.next !== undefined) {
        long = span
        older = page.instances
        continue
      }
      if (page.instances.length >= this.#wanted) return page.instances
      short = span
      newest = page.instances
    }
    return [...older, ...newest]
  }

  /** @param {number} at */
  #changedAfter(at) {
    return this.#ask(pathOf(["instances"], { machine: this.#machine, limit, updatedAfter: at < 0 ? undefined : at }))
  }
}
