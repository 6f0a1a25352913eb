import * as Effect from "effect/Effect"
import { Output } from "../../output/Output.ts"
import { followElsewhere, followHere } from "../../upload/UploadFollowing.ts"
import { uploadText } from "../../upload/UploadView.ts"
import { uploads as opening, type Place, placeText } from "../../workspace/Opening.ts"
import { findUpload } from "./shared.ts"

const { observing } = opening

/** Shows an upload that a server works on. Without --detach, follows it. */
export const followOnServer = (input: Place & { readonly detach: boolean }, id: string) =>
  input.detach
    ? Effect.gen(function* () {
        const output = yield* Output
        const status = yield* findUpload(id)
        yield* output.value(status, () => uploadText(status, output.style))
      }).pipe(Effect.provide(observing(input)))
    : Effect.onInterrupt(Effect.provide(followElsewhere(id, input), observing(input)), () =>
        Effect.flatMap(Output, ({ note }) =>
          note(`No longer watching; the server continues. Show it with: detent upload show ${id}${placeText(input)}`),
        ),
      )

export const workOn = (place: Place, id: string) =>
  Effect.gen(function* () {
    const { note, noteStyle } = yield* Output
    const again = `detent upload retry ${id}${placeText(place)}`
    yield* note(noteStyle.dim(`${id}; if it is stopped, resume with: ${again}`))
    return yield* Effect.onInterrupt(followHere(id, place), () => note(`Stopped; finished work is stored. Resume with: ${again}`))
  })
