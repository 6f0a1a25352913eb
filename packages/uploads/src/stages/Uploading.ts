/** The services and settings of the work on batches. */
import type { EngineService } from "@detent/durable"
import type { PersistenceFailed } from "@detent/machine"
import type { Mapping, TableFormat } from "@detent/tables"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { UploadUnknown } from "../batch/BatchProblem.ts"
import type { Notice } from "../batch/BatchWork.ts"
import type { Existing } from "../batch/Existing.ts"
import type { UploadBatch } from "../batch/UploadBatch.ts"
import type { Deliveries } from "../deliver/Delivery.ts"
import type { SharedFiles, UploadFiles } from "../file/UploadFiles.ts"
import type { UploadLimits } from "../file/UploadLimits.ts"
import type { loadItemWorkflow } from "../item/ItemWorkflow.ts"
import type { ItemKind } from "../kind/ItemKind.ts"
import { kindOfMapping } from "../kind/MappedKind.ts"
import { kindOfFormat } from "../kind/TableKind.ts"
import type { ItemReader } from "../reading/ItemReader.ts"
import type { ItemOfBatch } from "../store/Dialect.ts"
import type { ItemTable } from "../store/ItemTable.ts"
import type { UploadStore } from "../store/UploadStore.ts"
import type { ReadOnce } from "./ReadOnce.ts"

/** A kind with the table of its items, and their deliveries where its definition has a handler. */
export interface Kind extends ItemKind {
  readonly table: ItemTable
  readonly deliveries: Deliveries | undefined
}

/** Writes items and, in the same transaction, the deliveries of those that are new or differ. */
export const writeAndDeliver = (
  { table, deliveries }: Kind,
  batchId: string,
  items: ReadonlyArray<ItemOfBatch>,
  existing: Existing,
): Effect.Effect<void, PersistenceFailed> =>
  Effect.flatMap(table.write(items, existing), (written) => {
    if (deliveries === undefined || written.size === 0) return Effect.void
    return deliveries.enqueue(
      batchId,
      items.filter(({ item }) => written.has(item.id)),
    )
  })

export interface Uploading {
  readonly engine: EngineService
  /** The workflow of items. */
  readonly items: Effect.Success<ReturnType<typeof loadItemWorkflow>>
  readonly store: UploadStore
  /** By name. */
  readonly kinds: ReadonlyMap<string, Kind>
  readonly limits: UploadLimits
  /** The local folder of received files, used without a shared storage. */
  readonly folder: string
  /** The storage of received files that all machines share. */
  readonly shared: SharedFiles | undefined
  readonly files: UploadFiles
  readonly notify: ((notice: Notice) => Effect.Effect<void, unknown>) | undefined
  /** How long a failing database is retried. */
  readonly storeTimeout: Duration.Duration
  readonly readOnce: ReadOnce
  readonly reader: ItemReader
}

/** The name of the machine of items, as in upload-item.json. */
export const itemMachine = "UploadItem"

/** The kind with this name. Fails if the configuration no longer has it. */
export const kindNamed = ({ kinds }: Pick<Uploading, "kinds">, name: string): Effect.Effect<Kind, UploadUnknown> => {
  const kind = kinds.get(name)
  return kind === undefined ? Effect.fail(new UploadUnknown({ upload: name, known: [...kinds.keys()] })) : Effect.succeed(kind)
}

/** The kind of the items of a batch, for the format and the mapping of its file. */
export const kindOfBatch = (
  uploading: Pick<Uploading, "kinds">,
  { kind, table, mapping }: Pick<UploadBatch, "kind" | "table" | "mapping">,
): Effect.Effect<Kind, UploadUnknown> => Effect.map(kindNamed(uploading, kind), (found) => kindOfFile(found, table, mapping))

/** The kind of the items of a file. */
export const kindOfFile = (kind: Kind, table: TableFormat | undefined, mapping: Mapping | undefined): Kind =>
  kindOfMapping(kindOfFormat(kind, table), mapping === undefined ? undefined : { mapping, columns: table?.columns })
