/** What each activity is given and gives back. Names and addresses are checked where they come in. */
import * as Schema from "effect/Schema"
import { BatchId, DocumentId, Namespace } from "../storage/Identity.ts"
import { Count } from "../storage/Quantity.ts"
import { StorageUri } from "../storage/Uri.ts"

export const ActivityName = Schema.Literals(["extraction", "resolution", "validation", "ingestion"])
export type ActivityName = typeof ActivityName.Type

const durationMs = Count

export const ExtractionInput = Schema.Struct({ batchId: BatchId, documentId: DocumentId, sourceUri: StorageUri, ontologyUri: StorageUri })

export const ExtractionOutput = Schema.Struct({
  documentId: DocumentId,
  graphUri: StorageUri,
  entityCount: Count,
  relationCount: Count,
  durationMs,
  /** Set where the graph has the document in the same version: it was not extracted again. */
  unchanged: Schema.optionalKey(Schema.Boolean),
})

export const ResolutionInput = Schema.Struct({ batchId: BatchId, documentGraphUris: Schema.Array(StorageUri) })

export const ResolutionOutput = Schema.Struct({ resolvedUri: StorageUri, entitiesTotal: Count, clustersFormed: Count, durationMs })

export const ValidationInput = Schema.Struct({ batchId: BatchId, resolvedUri: StorageUri, shaclUri: Schema.optionalKey(StorageUri) })

export const ValidationOutput = Schema.Struct({ validatedUri: StorageUri, conforms: Schema.Boolean, violations: Count, durationMs })

export const IngestionInput = Schema.Struct({ batchId: BatchId, validatedUri: StorageUri, targetNamespace: Namespace })

export const IngestionOutput = Schema.Struct({ canonicalUri: StorageUri, triplesIngested: Count, durationMs })
