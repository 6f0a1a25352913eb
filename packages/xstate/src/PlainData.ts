/** Values that JSON preserves unchanged: only these survive a restart. */

export class NotPlainData extends Error {
  override readonly name = "NotPlainData"
  /** The path of the value, such as `context.user.onClose`. */
  readonly path: string

  constructor(path: string, what: string) {
    super(`${path} holds ${what}, which does not survive a restart; keep plain data there`)
    this.path = path
  }
}

/** How an actor in the context is stored: by its id, as XState's own persisted snapshots have it. */
interface StoredRef {
  readonly xstate$$type: 1
  readonly id: string
}

const isRef = (value: object): value is { readonly id: string } => "sessionId" in value && "send" in value && "id" in value

const isStoredRef = (value: object): value is StoredRef => "xstate$$type" in value && "id" in value

/** The value with actors replaced by their ids; the same value if it contains none. Throws {@link NotPlainData}. */
export const storable = (value: unknown, path: string): unknown => {
  switch (typeof value) {
    case "string":
    case "boolean":
    case "undefined":
      return value
    case "number":
      if (Number.isFinite(value)) return value
      throw new NotPlainData(path, String(value))
    case "object":
      return value === null ? value : storableObject(value, path)
    default:
      throw new NotPlainData(path, `a ${typeof value}`)
  }
}

const storableObject = (value: object, path: string): unknown => {
  if (isRef(value)) return { xstate$$type: 1, id: value.id } satisfies StoredRef
  if (Array.isArray(value)) return mapped(value, path, (index) => `${path}[${index}]`)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) {
    throw new NotPlainData(path, `an instance of ${String(value.constructor?.name ?? "a class")}`)
  }
  return mapped(value, path, (key) => `${path}.${key}`)
}

const mapped = (value: object, path: string, pathOf: (key: string) => string): unknown => {
  let copy: Record<string, unknown> | undefined
  for (const key of Object.keys(value)) {
    const before = (value as Record<string, unknown>)[key]
    if (before === value) throw new NotPlainData(path, "itself")
    const after = storable(before, pathOf(key))
    if (after === before && before !== undefined) continue
    copy ??= (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>
    // As in JSON, undefined becomes null in arrays and is removed from objects.
    if (after !== undefined) copy[key] = after
    else if (Array.isArray(value)) copy[key] = null
    else delete copy[key]
  }
  return copy ?? value
}

/** The context in its stored form. Parts that have not changed since the last decision were checked then. */
export const storableContext = (context: unknown, before: unknown, stored: unknown): unknown => {
  if (context === before) return stored
  if (typeof context !== "object" || context === null || typeof before !== "object" || before === null) return storable(context, "context")
  let copy: Record<string, unknown> | undefined
  for (const [key, value] of Object.entries(context)) {
    const isSame = value === (before as Record<string, unknown>)[key]
    const after = isSame ? (stored as Record<string, unknown>)[key] : storable(value, `context.${key}`)
    if (after === value && value !== undefined) continue
    copy ??= { ...context } as Record<string, unknown>
    if (after === undefined) delete copy[key]
    else copy[key] = after
  }
  return copy ?? context
}

/** The value with the ids of actors replaced by these actors. An actor that no longer exists becomes undefined. */
export const revived = (value: unknown, actors: Readonly<Record<string, unknown>>): unknown => {
  if (typeof value !== "object" || value === null) return value
  if (isStoredRef(value)) return actors[value.id]
  let copy: Record<string, unknown> | undefined
  for (const [key, before] of Object.entries(value)) {
    const after = revived(before, actors)
    if (after === before) continue
    copy ??= (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>
    copy[key] = after
  }
  return copy ?? value
}

/** A failure as data: an `Error` keeps its name, its message, and other fields as JSON has them. */
export const storableError = (error: unknown): unknown => {
  if (error instanceof Error) {
    const fields = asJson({ ...error })
    return { ...(typeof fields === "object" ? fields : {}), name: error.name, message: error.message }
  }
  return asJson(error) ?? { name: "Error", message: String(error) }
}

/** The value as JSON represents it; undefined if JSON cannot. */
const asJson = (value: unknown): unknown => {
  try {
    const text: string | undefined = JSON.stringify(value)
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    // A cycle or a bigint.
    return undefined
  }
}
