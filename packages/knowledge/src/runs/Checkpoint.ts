/**
 * How far a run got: the last finished batch of chunks and the entities known by then. Known by run and batch index, so that
 * saving it again changes nothing. The graphs themselves are artifacts and are merged at the end.
 */
import * as Schema from "effect/Schema"
import { ContentHash, RunId } from "../storage/Identity.ts"
import { ArtifactPath } from "../storage/Paths.ts"
import { Count } from "../storage/Quantity.ts"

export class RunCheckpoint extends Schema.Class<RunCheckpoint>("RunCheckpoint")({
  runId: RunId,
  batchIndex: Count,
  entitySnapshotPath: ArtifactPath,
  entitySnapshotHash: ContentHash,
  createdAt: Schema.DateTimeUtc,
}) {}

export const RunCheckpointJson = Schema.fromJsonString(Schema.toCodecJson(RunCheckpoint))
