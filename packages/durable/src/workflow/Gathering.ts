/** Reads many things with one query: while one is on its way, whatever else is asked for gathers for the next. */
import type { Environment } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import type { InstanceKey } from "../store/Commit.ts"
import { instanceName } from "../store/CommitCheck.ts"

const limit = 500

export class Gathering<A> {
  readonly #environment: Environment
  readonly #read: (keys: ReadonlyArray<InstanceKey>) => Effect.Effect<ReadonlyMap<string, A>>
  #asked = new Map<string, { readonly key: InstanceKey; readonly tell: Array<(found: A | undefined) => void> }>()
  #reading = false

  constructor(environment: Environment, read: (keys: ReadonlyArray<InstanceKey>) => Effect.Effect<ReadonlyMap<string, A>>) {
    this.#environment = environment
    this.#read = read
  }

  /** Tells what there is under a key. */
  ask(key: InstanceKey, tell: (found: A | undefined) => void) {
    const name = instanceName(key)
    const same = this.#asked.get(name)
    if (same === undefined) this.#asked.set(name, { key, tell: [tell] })
    else same.tell.push(tell)
    if (this.#reading) return
    this.#reading = true
    this.#environment.run(this.#readAll)
  }

  /** The first turn is given to others, so that all who ask in it share the query. */
  readonly #readAll: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    while (this.#asked.size > 0) {
      yield* Effect.yieldNow
      const asked = [...this.#asked].slice(0, limit)
      for (const [name] of asked) this.#asked.delete(name)
      const found = yield* this.#read(asked.map(([, { key }]) => key))
      for (const [name, { tell }] of asked) for (const one of tell) one(found.get(name))
    }
    this.#reading = false
  })
}
