/** Follows a batch until it ends, whichever process works on it. */
import { Batches, type BatchId, type BatchState, isTerminal } from "@detent/knowledge"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { Output } from "../output/Output.ts"
import { followed } from "../output/Progress.ts"
import type { Place } from "../workspace/Opening.ts"
import { batchExitCode, batchNextStep, batchStep, batchText, batchView } from "./BatchView.ts"

/** Follows a batch that this process works on. */
export const followHere = (id: BatchId, place: Place) => follow(place, Stream.unwrap(Effect.map(Batches, (batches) => batches.watch(id))))

/** Follows a batch that another process works on, by polling the store. */
export const followElsewhere = (id: BatchId, place: Place) =>
  follow(
    place,
    Stream.unwrap(
      Effect.map(Batches, (batches) =>
        Stream.fromEffectSchedule(batches.state(id), Schedule.spaced("200 millis")).pipe(
          Stream.changesWith((left, right) => JSON.stringify(batchView(left)) === JSON.stringify(batchView(right))),
          Stream.takeUntil(isTerminal),
        ),
      ),
    ),
  )

const follow = <E, R>(place: Place, states: Stream.Stream<BatchState, E, R>) =>
  Effect.gen(function* () {
    const output = yield* Output
    const end = yield* followed(states, { step: batchStep, json: batchView })
    if (end === undefined) return
    if (!output.isJson) yield* output.text(batchText(end, output.style, place))
    const next = batchNextStep(end, place)
    if (next !== undefined) yield* output.note(output.noteStyle.dim(next))
    return batchExitCode(end)
  })
