/** Reads the positions of instances from the store. Calls in the same turn, or while a query is in flight, share the next query. */
import type { PersistenceFailed } from "@detent/machine"
import type { Environment } from "@detent/machine/internal"
import type { InstanceKey, InstanceStanding, JournalService } from "@detent/store"
import { Batcher, instanceName } from "@detent/store/internal"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

/** How many instances one query reads. */
export const queryLimit = 1000

/** No answer is older than the call that asked for it. */
export type PositionReader = Batcher<InstanceKey, InstanceStanding | undefined, PersistenceFailed>

export const makePositionReader = (journal: Pick<JournalService, "standings">, { run }: Pick<Environment, "run">): PositionReader =>
  new Batcher({
    run,
    limit: queryLimit,
    prepare: (key) => key,
    perform: (asked) => {
      const names = asked.map(instanceName)
      const keys = new Map(asked.map((key, index) => [names[index] as string, key]))
      const positions = new Map([...keys.keys()].map((name, index) => [name, index]))
      return Effect.map(journal.standings([...keys.values()]), (standings) =>
        names.map((name) => Exit.succeed(standings[positions.get(name) ?? -1])),
      )
    },
  })
