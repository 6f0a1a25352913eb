/** What JSON would lose of a state: functions, instances of classes. A state is data; what does things belongs in services. */
import type { Tagged, UntypedVariant } from "@detent/machine/internal"
import * as Schema from "effect/Schema"

/** Thrown by the codec, and turned into a typed error when an instance is started. */
export class Unstorable extends Error {
  override readonly name = "Unstorable"

  constructor(field: string, lost: string) {
    super(`its field ${field} holds ${lost}, which JSON would lose; keep plain data in it, or give it a schema that encodes it`)
  }
}

/** Throws where something in an encoded state is not JSON. */
export const checkStorable = (encoded: object) => {
  for (const [field, content] of Object.entries(encoded)) {
    const lost = lostIn(content)
    if (lost !== undefined) throw new Unstorable(field, lost)
  }
}

/** The field that a schema could not encode. */
export const unstorableField = (variant: UntypedVariant, state: Tagged): Unstorable | undefined => {
  for (const [field, schema] of Object.entries(variant.fields)) {
    const content = (state as Tagged & { readonly [field: string]: unknown })[field]
    const encode = Schema.encodeUnknownResult(
      Schema.toCodecJson(Schema.Struct({ [field]: schema }) as unknown as Schema.Codec<object, unknown>),
    )
    if (encode({ [field]: content })._tag === "Failure") return new Unstorable(field, lostIn(content) ?? nameOf(content))
  }
  return undefined
}

/** The first thing in a value that JSON would lose, in words. `around` are the values that it is in. */
const lostIn = (content: unknown, around = new Set<unknown>()): string | undefined => {
  if (content === null || content === undefined) return undefined
  if (typeof content === "function" || typeof content === "symbol" || typeof content === "bigint") return nameOf(content)
  if (typeof content !== "object") return undefined
  if (around.has(content)) return "a value that holds itself"
  const prototype = Object.getPrototypeOf(content)
  if (!Array.isArray(content) && prototype !== Object.prototype && prototype !== null) return nameOf(content)
  around.add(content)
  for (const part of Object.values(content)) {
    const lost = lostIn(part, around)
    if (lost !== undefined) return lost
  }
  around.delete(content)
  return undefined
}

const nameOf = (value: unknown): string => {
  if (typeof value !== "object" || value === null) return `a ${typeof value}`
  return `an instance of ${String(value.constructor?.name ?? "a class")}`
}
