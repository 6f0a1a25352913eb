/** What a run leaves behind. The content is kept in storage under a path that names its hash; these are the rows that point there. */
import * as Schema from "effect/Schema"
import { ArtifactKey, ContentHash, RunId } from "../storage/Identity.ts"
import { ArtifactPath } from "../storage/Paths.ts"
import { Count } from "../storage/Quantity.ts"

/** Known by run and key: a later artifact of the same key takes its place. */
export class RunArtifact extends Schema.Class<RunArtifact>("RunArtifact")({
  runId: RunId,
  artifactKey: ArtifactKey,
  contentPath: ArtifactPath,
  contentHash: ContentHash,
  createdAt: Schema.DateTimeUtc,
}) {}

export const RunArtifactJson = Schema.fromJsonString(Schema.toCodecJson(RunArtifact))

/** The graph of one batch of chunks, known by run and batch index. The document's graph is merged from these. */
export class BatchArtifact extends Schema.Class<BatchArtifact>("BatchArtifact")({
  runId: RunId,
  batchIndex: Count,
  turtlePath: ArtifactPath,
  turtleHash: ContentHash,
  chunkCount: Count,
  createdAt: Schema.DateTimeUtc,
}) {}

export const BatchArtifactJson = Schema.fromJsonString(Schema.toCodecJson(BatchArtifact))
