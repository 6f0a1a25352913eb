/** The cursors of pages as text for `--after`. */
import type { InstanceCursor } from "@detent/durable"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { WrongUsage } from "../Failure.ts"

const CursorJson = Schema.fromJsonString(
  Schema.Struct({
    updatedAt: Schema.Int,
    machine: Schema.String,
    id: Schema.String,
    value: Schema.optionalKey(Schema.Union([Schema.String, Schema.Finite])),
  }),
)

export const cursorText = ({ updatedAt, machine, id, value }: InstanceCursor): string =>
  Buffer.from(Schema.encodeSync(CursorJson)({ updatedAt, machine, id, ...(value === undefined ? {} : { value }) })).toString("base64url")

/** Decodes the cursor of `--after`. Empty where the option is not given. */
export const cursorFrom = (text: string | undefined): Effect.Effect<{ readonly after?: InstanceCursor }, WrongUsage> =>
  text === undefined
    ? Effect.succeed({})
    : Schema.decodeEffect(CursorJson)(Buffer.from(text, "base64url").toString("utf8")).pipe(
        Effect.map((after) => ({ after })),
        Effect.mapError(() => notACursor(text)),
      )

export const notACursor = (text: string): WrongUsage =>
  new WrongUsage({ problem: `--after ${text} is not a cursor`, nextStep: "copy it from the end of the previous page" })
