/** Reads what a requested effect was given. */
import { type Declarations, isEffectSlot } from "@detent/machine/internal"
import * as Schema from "effect/Schema"

export const parametersDecoder = (slot: Declarations["effectSlots"][string]): ((json: string) => object) => {
  const fields = isEffectSlot(slot) ? slot.parameters : slot
  const decode = Schema.decodeUnknownSync(Schema.toCodecJson(Schema.Struct(fields) as unknown as Schema.Codec<object, unknown>))
  return (json) => decode(JSON.parse(json))
}
