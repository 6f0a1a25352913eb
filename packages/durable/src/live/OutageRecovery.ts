/**
 * Opens instances again that left memory in an outage of the store with state work, or with self-sent events that are not journaled
 * yet. No caller would open them, so they are opened once the store answers.
 */
import type { Environment } from "@detent/machine/internal"
import type { InstanceKey } from "@detent/store"
import { instanceName } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type { InstanceTable } from "./InstanceTable.ts"

const firstPause = 250
const longestPause = 10_000

/** How many are read at a time. */
const concurrency = 16

export class OutageRecovery {
  readonly #table: InstanceTable
  readonly #environment: Environment
  readonly #waiting = new Map<string, InstanceKey>()
  #returning: Fiber.Fiber<void> | undefined
  #closed = false

  constructor(table: InstanceTable, environment: Environment) {
    this.#table = table
    this.#environment = environment
  }

  bringBack(key: InstanceKey) {
    if (this.#closed) return
    this.#waiting.set(instanceName(key), key)
    this.#returning ??= this.#environment.run(this.#return)
  }

  close() {
    this.#closed = true
    this.#returning?.interruptUnsafe()
  }

  readonly #return: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    for (let pause = firstPause; this.#waiting.size > 0; ) {
      yield* Effect.sleep(pause)
      const [first, ...others] = [...this.#waiting.values()]
      // One instance is opened before the others, so that a store that does not answer yet is not flooded.
      const answers = first === undefined || (yield* this.#open(first))
      if (answers) yield* Effect.forEach(others, (key) => this.#open(key), { discard: true, concurrency })
      pause = answers ? firstPause : Math.min(pause * 2, longestPause)
    }
    this.#returning = undefined
  })

  /** Returns false while the store does not answer. After any other failure, the instance is not opened again: it would fail again. */
  #open(key: InstanceKey): Effect.Effect<boolean> {
    return Effect.map(Effect.result(this.#table.open(key)), (result) => {
      if (result._tag === "Failure" && result.failure._tag === "PersistenceFailed") return false
      this.#waiting.delete(instanceName(key))
      return true
    })
  }
}
