import * as Schema from "effect/Schema"

/** A repair that was not asked for or does not help. The journal is as it was. */
export class RepairRefused extends Schema.TaggedError<RepairRefused>()("RepairRefused", {
  machine: Schema.String,
  id: Schema.String,
  sequence: Schema.Number,
  problem: Schema.String,
}) {
  override get message() {
    return `${this.machine} ${this.id} ${this.problem}`
  }
}
