/** There is an instance of that id already, whether it is in memory or not. */
import { ActorExists } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { InstanceKey } from "./store/Commit.ts"
import type { JournalService } from "./store/Journal.ts"

export class InstanceExists extends ActorExists.extend<InstanceExists>("InstanceExists")({
  machine: Schema.String,
  /** Where it stands, as far as that was looked up. */
  state: Schema.optionalKey(Schema.String),
  status: Schema.optionalKey(Schema.String),
}) {
  override get message() {
    const standing = this.state === undefined ? "" : ` (${this.state}, ${this.status})`
    return `${this.machine} ${this.id} exists${standing}; use ensure or get`
  }
}

/** With where it stands. A store that cannot tell leaves that out: that it exists is told all the same. */
export const instanceExists = (journal: JournalService, { machine, id }: InstanceKey): Effect.Effect<InstanceExists> =>
  Effect.match(journal.open({ machine, id }), {
    onFailure: () => new InstanceExists({ machine, id }),
    onSuccess: Option.match({
      onNone: () => new InstanceExists({ machine, id }),
      onSome: ({ record }) => new InstanceExists({ machine, id, state: record.tag, status: record.status }),
    }),
  })
