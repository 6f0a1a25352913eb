import { statSync } from "node:fs"
import { isBucketLocation } from "@detent/blobs/BucketLocation"
import * as operations from "@detent/workspace/operations/uploads"
import * as Effect from "effect/Effect"
import { NothingFound, WrongUsage } from "../../Failure.ts"
import { Output } from "../../output/Output.ts"
import { notACursor } from "../../workspace/Cursor.ts"
import { type Place, placeText } from "../../workspace/Opening.ts"
import { runningServerWith } from "../../workspace/Server.ts"

export const upload = { name: "upload", summary: "the upload's id, as `detent upload list` shows it" } as const

export const itemArgument = { name: "item", summary: "the item's number, as `detent upload show --items failed` shows it" } as const

/** Refuses a file that is not on this machine. */
export const isFile = (file: string): Effect.Effect<void, NothingFound | WrongUsage> =>
  Effect.suspend((): Effect.Effect<void, NothingFound | WrongUsage> => {
    if (isBucketLocation(file)) {
      const nextStep = "copy it to this machine first, and name the copy"
      return Effect.fail(new WrongUsage({ problem: `only local files can be uploaded, and ${file} is not one`, nextStep }))
    }
    const found = statSync(file, { throwIfNoEntry: false })
    if (found !== undefined && !found.isDirectory()) return Effect.void
    const nextStep = found === undefined ? "name a file of items" : "it is a folder: name a file of items"
    return Effect.fail(new NothingFound({ what: `file ${file}`, nextStep }))
  })

/** Notes how to resume unfinished uploads where no server runs: a killed process leaves no record that it ended. */
export const noteUnfinished = (place: Place, uploads: ReadonlyArray<{ readonly batchId: string; readonly isResting?: boolean }>) =>
  Effect.gen(function* () {
    const [first, ...others] = uploads.filter(({ isResting }) => isResting === false)
    if (first === undefined || (yield* runningServerWith(place, "uploads")) !== undefined) return
    const { note, noteStyle } = yield* Output
    const which = others.length === 0 ? `${first.batchId} has` : `${others.length + 1} uploads have`
    const retry = `detent upload retry ${others.length === 0 ? first.batchId : "UPLOAD"}${placeText(place)}`
    yield* note(noteStyle.dim(`${which} not ended, and no server runs here; unless another process works on it, resume with: ${retry}`))
  })

export const numberOf = (text: string | undefined): Effect.Effect<{ readonly after?: number }, WrongUsage> => {
  if (text === undefined) return Effect.succeed({})
  return /^\d{1,15}$/.test(text) ? Effect.succeed({ after: Number(text) }) : Effect.fail(notACursor(text))
}

/** The position of an item in its file. */
export const itemNumber = (text: string): Effect.Effect<number, WrongUsage> =>
  /^\d{1,15}$/.test(text)
    ? Effect.succeed(Number(text))
    : Effect.fail(
        new WrongUsage({ problem: `${text} is not a number of an item`, nextStep: "see `detent upload show UPLOAD --items failed`" }),
      )

export const findUpload = (id: string) =>
  Effect.catchTag(operations.status(id), "BatchNotFound", () =>
    Effect.fail(new NothingFound({ what: `upload ${id}`, nextStep: "see `detent upload list`" })),
  )

export const changeOf = (operation: "retry" | "cancel", batchId: string, key: string | undefined) => ({
  operation: `uploads.${operation}`,
  params: { batchId },
  path: `/api/v1/uploads/${encodeURIComponent(batchId)}/${operation}`,
  key,
})
