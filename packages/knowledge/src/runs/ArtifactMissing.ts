/** A checkpoint names an artifact that is not there. */
import * as Schema from "effect/Schema"

export class ArtifactMissing extends Schema.TaggedError<ArtifactMissing>()("ArtifactMissing", { run: Schema.String, key: Schema.String }) {
  override get message() {
    return `run ${this.run} has no artifact ${this.key}; restore it from a backup, or retry the batch, which makes it again`
  }
}
