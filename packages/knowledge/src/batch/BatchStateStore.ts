/**
 * States of batches by their ids, in a `KeyValueStore`: for programs that see the bucket and not the database. The database is the
 * authority on where a batch stands; what is here is what a program has put here.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import * as KeyValueStore from "effect/unstable/persistence/KeyValueStore"
import type { BatchId } from "../storage/Identity.ts"
import { type BatchState, BatchStateSchema } from "./BatchState.ts"

export type BatchStateStoreError = KeyValueStore.KeyValueStoreError | Schema.SchemaError

export interface BatchStateStoreService {
  /** None where no state was set. A value that is no state of a batch is an error. */
  readonly get: (batchId: BatchId) => Effect.Effect<Option.Option<BatchState>, BatchStateStoreError>
  readonly set: (batchId: BatchId, state: BatchState) => Effect.Effect<void, BatchStateStoreError>
}

export class BatchStateStore extends Context.Service<BatchStateStore, BatchStateStoreService>()("@detent/knowledge/BatchStateStore") {
  static readonly layer: Layer.Layer<BatchStateStore, never, KeyValueStore.KeyValueStore> = Layer.effect(
    BatchStateStore,
    Effect.map(KeyValueStore.KeyValueStore, (store) => {
      const { get, set } = KeyValueStore.toSchemaStore(store, BatchStateSchema)
      return { get, set }
    }),
  )
}
