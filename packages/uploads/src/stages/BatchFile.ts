/** The file of a batch: where it is, and whether the batch still needs it. */
import { existsSync } from "node:fs"
import { basename, join, resolve } from "node:path"
import type { FileUnreadable } from "@detent/tables"
import * as Effect from "effect/Effect"
import type { UploadBatch } from "../batch/UploadBatch.ts"
import { inspect } from "../file/FileInspection.ts"
import { isAddress } from "../file/UploadFiles.ts"
import type { BatchRow } from "../store/Rows.ts"
import type { Uploading } from "./Uploading.ts"

/** Finds a received file by its unique name in the current folder, for a data folder that was copied. */
export const located = ({ folder }: Pick<Uploading, "folder">, batch: UploadBatch): UploadBatch => {
  if (isAddress(batch.filePath) || existsSync(batch.filePath)) return batch
  const filePath = resolve(join(folder, basename(batch.filePath)))
  return existsSync(filePath) ? { ...batch, filePath } : batch
}

/** Whether every item of the file is in the database, stored or failed: then a retry needs no file. */
export const isTaken = ({ totalItemsInFile }: UploadBatch, { next_index }: BatchRow): boolean =>
  totalItemsInFile > 0 && next_index >= totalItemsInFile

/** Fails if a retry of the batch needs its file and cannot read it. The retry itself reports other problems of the file. */
export const checkReadable = (uploading: Uploading, batch: UploadBatch, row: BatchRow): Effect.Effect<void, FileUnreadable> => {
  if (isTaken(batch, row)) return Effect.void
  const { filePath, fileName, contentType, given } = located(uploading, batch)
  return Effect.catch(
    Effect.asVoid(inspect(uploading.files, filePath, fileName, uploading.limits, contentType, given)),
    (problem): Effect.Effect<void, FileUnreadable> => (problem._tag === "FileUnreadable" ? Effect.fail(problem) : Effect.void),
  )
}
