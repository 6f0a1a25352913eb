/** Asks the store for the positions of instances. All callers that ask in the same turn, or while a question is in flight, share the next. */
import type { PersistenceFailed } from "@detent/machine"
import type { Environment } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { Batcher } from "../runtime/Batcher.ts"
import type { InstanceKey } from "../store/Commit.ts"
import { instanceName } from "../store/CommitCheck.ts"
import type { InstanceStanding, JournalService } from "../store/Journal.ts"

/** How many instances one statement asks for. */
export const questionLimit = 1000

/** No answer is older than its question. */
export type PositionReader = Batcher<InstanceKey, InstanceStanding | undefined, PersistenceFailed>

export const makePositionReader = (journal: Pick<JournalService, "standings">, { run }: Pick<Environment, "run">): PositionReader =>
  new Batcher({
    run,
    limit: questionLimit,
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
