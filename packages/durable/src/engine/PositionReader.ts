/** Asks the store how far instances have come. Everybody who asks in the same turn, or while a question is on its way, shares the next. */
import type { PersistenceFailed } from "@detent/machine"
import type { Environment } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { InstanceKey } from "../store/Commit.ts"
import { instanceName } from "../store/CommitCheck.ts"
import type { InstanceStanding, JournalService } from "../store/Journal.ts"

/** How many instances one statement asks for. */
export const questionLimit = 1000

type Answer = Exit.Exit<InstanceStanding | undefined, PersistenceFailed>

interface Asker {
  readonly key: InstanceKey
  readonly tell: (answer: Answer) => void
}

export class PositionReader {
  readonly #journal: JournalService
  readonly #environment: Environment
  #askers: Array<Asker> = []
  #asking = false

  constructor(journal: JournalService, environment: Environment) {
    this.#journal = journal
    this.#environment = environment
  }

  /** How far an instance has come: no answer is older than its question. */
  of(key: InstanceKey): Effect.Effect<InstanceStanding | undefined, PersistenceFailed> {
    return Effect.callback((resume) => {
      this.#askers.push({ key, tell: resume })
      if (this.#asking) return
      this.#asking = true
      this.#environment.run(this.#ask)
    })
  }

  readonly #ask: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    while (this.#askers.length > 0) {
      yield* Effect.yieldNow
      const askers = this.#askers.splice(0, questionLimit)
      const keys = new Map(askers.map(({ key }) => [instanceName(key), key]))
      const exit = yield* Effect.exit(this.#journal.standings([...keys.values()]))
      const positions = new Map([...keys.keys()].map((name, index) => [name, index]))
      for (const { key, tell } of askers) tell(Exit.map(exit, (standings) => standings[positions.get(instanceName(key)) ?? -1]))
    }
    this.#asking = false
  })
}
