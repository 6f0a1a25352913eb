import type { Batches, BatchId } from "@detent/knowledge"
import * as operations from "@detent/workspace/operations/batches"
import * as Effect from "effect/Effect"
import { followElsewhere, followHere } from "../../batch/BatchFollowing.ts"
import { batchText, batchView } from "../../batch/BatchView.ts"
import { Output } from "../../output/Output.ts"
import { knowledge, type Place, placeText } from "../../workspace/Opening.ts"

const { observing } = knowledge

/** Shows a batch that a server works on. Without --detach, follows it. */
export const followOnServer = (input: Place & { readonly detach: boolean; readonly dispatch?: string }, id: BatchId) =>
  (input.detach || input.dispatch === "activities" ? showNow(input, id) : follow(input, id)).pipe(Effect.provide(observing(input)))

const showNow = (input: Place, id: BatchId): Effect.Effect<void, unknown, Batches | Output> =>
  Effect.gen(function* () {
    const output = yield* Output
    const state = yield* operations.state(id)
    yield* output.value(batchView(state), () => batchText(state, output.style, input))
    yield* output.note(output.noteStyle.dim(`Follow it: detent batch watch ${id}${placeText(input)}`))
  })

export const follow = (place: Place, id: BatchId) =>
  Effect.gen(function* () {
    const { note } = yield* Output
    const left = note(`No longer watching; the batch is not affected. Watch again with: detent batch watch ${id}${placeText(place)}`)
    return yield* Effect.onInterrupt(followElsewhere(id, place), () => left)
  })

/** The most unfinished batches that a message names. */
const namedAtMost = 5

/** Works on the batch in this process. Says at the start how to resume, since kill -9 leaves no message. */
export const workOn = (place: Place, id: BatchId) =>
  Effect.gen(function* () {
    const { note, noteStyle } = yield* Output
    const again = `detent batch resume ${id}${placeText(place)}`
    yield* note(noteStyle.dim(`${id}; if it is stopped, resume with: ${again}`))
    const unfinished = yield* operations.unfinished(namedAtMost + 1)
    const others = unfinished.filter(({ batchId }) => batchId !== id).slice(0, namedAtMost)
    // Every process that works on batches continues those whose process has ended, which may cost money.
    if (others.length > 0)
      yield* note(
        `Unfinished batches continue too: ${others.map(({ batchId, state }) => `${batchId} (${state})`).join(", ")}. ` +
          `End one with: detent batch cancel ID${placeText(place)}`,
      )
    return yield* Effect.onInterrupt(followHere(id, place), () => note(`Stopped; finished work is stored. Resume with: ${again}`))
  })
