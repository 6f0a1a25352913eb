/**
 * Upcasters convert the stored data of older versions of a machine: one step per version, on the JSON, before it is decoded.
 *
 * ```ts
 * engine.register(Order, { upcasters: { 1: { state: (json) => ({ ...json, currency: "EUR" }) } } })
 * ```
 */

type JsonObject = { readonly [name: string]: unknown }

/** From one version to the next. A part without an upcaster stays as it is. */
export interface Upcaster {
  readonly state?: (state: JsonObject) => JsonObject
  readonly event?: (event: JsonObject) => JsonObject
}

/** Upcasters by the version that they read. */
export type Upcasters = { readonly [version: number]: Upcaster }

export const upcast = (upcasters: Upcasters, kind: "state" | "event", stored: unknown, from: number, to: number): unknown => {
  if (from > to) throw new WrittenByNewer(from, to)
  let value = stored as JsonObject
  for (let version = from; version < to; version++) {
    const upcaster = upcasters[version]
    if (upcaster === undefined) throw new Undecodable(`no upcaster reads version ${version}; register one for ${version} → ${version + 1}`)
    value = upcaster[kind]?.(value) ?? value
  }
  return value
}

/** Thrown inside the codec, and turned into a typed error by the reader of the journal. */
export class Undecodable extends Error {
  override readonly name = "Undecodable"
}

/** Thrown where a newer version of the machine wrote the content: it is right, and this process is too old. */
export class WrittenByNewer extends Undecodable {
  readonly written: number
  readonly known: number

  constructor(written: number, known: number) {
    super(`it was written by version ${written}, this process has ${known}; deploy it here too`)
    this.written = written
    this.known = known
  }
}
