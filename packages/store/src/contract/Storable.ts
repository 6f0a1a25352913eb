/** Finds values that JSON would lose: functions, instances of classes, NaN. A state is data; behaviour belongs in services. */
import { asSchema, type Tagged, type UntypedVariant } from "@detent/machine/internal"
import * as Schema from "effect/Schema"

/** Thrown by an encoder, and turned into a typed error of the caller. */
export class Unstorable extends Error {
  override readonly name = "Unstorable"

  constructor(field: string, lost: string) {
    super(`its field ${field} holds ${lost}, which JSON would lose; keep plain data in it, or give it a schema that encodes it`)
  }
}

/** Encodes values by a schema. Throws `Unstorable` where JSON would lose a part of a value. */
export const storableEncoder = (schema: Schema.Codec<unknown, unknown>): ((value: unknown) => unknown) => {
  const encode = Schema.encodeUnknownSync(Schema.toCodecJson(schema))
  const check = lossCheck(schema)
  return (value) => {
    const encoded = encode(value)
    check?.(encoded)
    return encoded
  }
}

/**
 * Throws `Unstorable` where JSON would lose a part of an encoded value. Undefined for a schema that accepts no such values: only
 * schemas that accept anything, such as `Unknown`, need the check.
 */
export const lossCheck = (schema: Schema.Codec<unknown, unknown>): ((encoded: unknown) => void) | undefined => {
  if (!acceptsAnything(schema.ast)) return undefined
  const decode = Schema.decodeUnknownResult(Schema.toCodecJson(schema))
  return (encoded) => {
    const dropped = checkStorable(encoded)
    if (dropped === undefined) return
    // JSON has no undefined: the field is missing when it is read, which not every schema accepts.
    const read = decode(JSON.parse(JSON.stringify(encoded) ?? "null"))
    if (read._tag === "Failure") throw new Unstorable(dropped, "undefined")
  }
}

/** Whether a schema accepts values that JSON would lose. */
const acceptsAnything = (node: unknown, seen = new Set<unknown>()): boolean => {
  if (typeof node !== "object" || node === null || seen.has(node)) return false
  seen.add(node)
  const tag = "_tag" in node ? node._tag : undefined
  if (tag === "Any" || tag === "Unknown" || tag === "ObjectKeyword") return true
  return Object.values(node).some((part) => acceptsAnything(part, seen))
}

/** Throws where a part of an encoded value is not JSON. Returns the first field with an undefined property, which JSON leaves out. */
const checkStorable = (encoded: unknown): string | undefined => {
  let dropped: string | undefined
  let field = "(itself)"
  const drops = () => {
    dropped ??= field
  }
  const around = new Set<unknown>()
  const fields = typeof encoded === "object" && encoded !== null ? encoded : { [field]: encoded }
  for (const name of Object.keys(fields)) {
    field = name
    const lost = lostIn(fields[name as keyof typeof fields], drops, around)
    if (lost !== undefined) throw new Unstorable(name, lost)
  }
  return dropped
}

/** The field that a schema could not encode. */
export const unstorableField = (variant: UntypedVariant, state: Tagged): Unstorable | undefined => {
  for (const [field, schema] of Object.entries(variant.fields)) {
    const content = (state as Tagged & { readonly [field: string]: unknown })[field]
    const encode = Schema.encodeUnknownResult(
      Schema.toCodecJson(Schema.Struct({ [field]: asSchema(schema) }) as unknown as Schema.Codec<object, unknown>),
    )
    if (encode({ [field]: content })._tag === "Failure")
      return new Unstorable(field, lostIn(content, () => undefined, new Set()) ?? nameOf(content))
  }
  return undefined
}

/** Describes the first part of a value that JSON would lose. Calls `drops` for an undefined property. `around`: the enclosing values. */
const lostIn = (content: unknown, drops: () => void, around: Set<unknown>): string | undefined => {
  if (content === null || typeof content === "string" || typeof content === "boolean") return undefined
  if (content === undefined) return void drops()
  if (typeof content === "function" || typeof content === "symbol" || typeof content === "bigint") return nameOf(content)
  if (typeof content === "number" && !Number.isFinite(content)) return String(content)
  if (typeof content !== "object") return undefined
  if (around.has(content)) return "a value that contains itself"
  const prototype = Object.getPrototypeOf(content)
  const isList = Array.isArray(content)
  if (!isList && prototype !== Object.prototype && prototype !== null) return nameOf(content)
  around.add(content)
  for (const part of Object.values(content)) {
    if (isList && part === undefined) return "a list with undefined"
    const lost = lostIn(part, drops, around)
    if (lost !== undefined) return lost
  }
  around.delete(content)
  return undefined
}

const nameOf = (value: unknown): string => {
  if (typeof value !== "object" || value === null) return `a ${typeof value}`
  return `an instance of ${String(value.constructor?.name ?? "a class")}`
}
