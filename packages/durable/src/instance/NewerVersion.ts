/**
 * An instance was written by a newer version of its machine than this process has, as happens while a new one is deployed node by
 * node. Nothing is wrong with it: it is not held, and whoever knows that version goes on with it.
 */
import { EventReplayError } from "@detent/machine"
import * as Schema from "effect/Schema"

export class NewerVersion extends EventReplayError.extend<NewerVersion>("NewerVersion")({
  /** The version that wrote it. */
  written: Schema.Number,
  /** The version that was to read it. */
  known: Schema.Number,
}) {
  override get message() {
    return `${this.machine} ${this.id} was written by version ${this.written}, this process knows ${this.known}; deploy it here too`
  }
}
