/** Why a command could not be enqueued. */
import * as Schema from "effect/Schema"

/** What was to be enqueued is no command of its queue. Nothing was stored. */
export class InvalidCommand extends Schema.TaggedError<InvalidCommand>()("InvalidCommand", {
  queue: Schema.String,
  key: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `queue ${this.queue}: ${this.key} cannot be enqueued: ${this.problem}`
  }
}
