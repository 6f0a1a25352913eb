/** The error of an instance that exists already, with its state. */
import { InstanceExists } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { InstanceKey } from "./store/Commit.ts"
import type { JournalService } from "./store/Journal.ts"

export { InstanceExists } from "@detent/machine"

/** With its state. Where the store cannot be read, the state is left out. */
export const instanceExists = (journal: JournalService, { machine, id }: InstanceKey): Effect.Effect<InstanceExists> =>
  Effect.match(journal.open({ machine, id }), {
    onFailure: () => new InstanceExists({ machine, id }),
    onSuccess: Option.match({
      onNone: () => new InstanceExists({ machine, id }),
      onSome: ({ record }) => new InstanceExists({ machine, id, state: record.tag, status: record.status }),
    }),
  })
