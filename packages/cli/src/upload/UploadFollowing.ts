/** Follows an upload until it ends, whichever process works on it. */
import * as operations from "@detent/workspace/operations/uploads"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { Output } from "../output/Output.ts"
import { followed } from "../output/Progress.ts"
import type { Place } from "../workspace/Opening.ts"
import { uploadExitCode, uploadNextStep, uploadStep, uploadText } from "./UploadView.ts"

/** Follows an upload that this process works on. */
export const followHere = (id: string, place: Place) => follow(place, operations.watch(id, "200 millis"))

/** Follows an upload that another process works on, by polling the store. */
export const followElsewhere = (id: string, place: Place) =>
  follow(
    place,
    Stream.fromEffectSchedule(operations.status(id), Schedule.spaced("200 millis")).pipe(
      Stream.changesWith((left, right) => JSON.stringify(left) === JSON.stringify(right)),
      Stream.takeUntil(({ isResting }) => isResting),
    ),
  )

const follow = <E, R>(place: Place, statuses: Stream.Stream<operations.UploadStatus, E, R>) =>
  Effect.gen(function* () {
    const output = yield* Output
    const end = yield* followed(statuses, { step: uploadStep, json: (status) => status })
    if (end === undefined) return
    if (!output.isJson) yield* output.text(uploadText(end, output.style))
    const next = uploadNextStep(end, place)
    if (next !== undefined) yield* output.note(output.noteStyle.dim(next))
    return uploadExitCode(end)
  })
