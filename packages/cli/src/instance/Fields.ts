/** Decodes the JSON of `--with`: the fields of an event or a state, or the value of an execution's event. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { WrongUsage } from "../Failure.ts"

const FieldsJson = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Json))

export const fieldsOf = (text: string | undefined): Effect.Effect<Readonly<Record<string, Schema.Json>>, WrongUsage> =>
  text === undefined
    ? Effect.succeed({})
    : Effect.mapError(
        Schema.decodeEffect(FieldsJson)(text),
        () => new WrongUsage({ problem: `--with ${text} is not a JSON object`, nextStep: `write it like --with '{"total":42}'` }),
      )

const decodeValue = Schema.decodeEffect(Schema.fromJsonString(Schema.Json))

export const valueOf = (text: string | undefined): Effect.Effect<Schema.Json | undefined, WrongUsage> =>
  text === undefined
    ? Effect.undefined
    : Effect.mapError(
        decodeValue(text),
        () => new WrongUsage({ problem: `--with ${text} is not JSON`, nextStep: `write it like --with '{"by":"ada"}' or --with '"yes"'` }),
      )
