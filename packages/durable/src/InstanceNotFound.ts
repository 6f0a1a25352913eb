import * as Schema from "effect/Schema"

/** There is no such instance. */
export class InstanceNotFound extends Schema.TaggedError<InstanceNotFound>()("InstanceNotFound", {
  machine: Schema.String,
  id: Schema.String,
}) {
  override get message() {
    return `there is no instance ${this.id} of machine ${this.machine}; start it first`
  }
}
