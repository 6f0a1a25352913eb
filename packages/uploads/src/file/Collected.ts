/** Collects the content of a file in memory, as long as the content of all files that are read together fits into a limit. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** The limit, in bytes of text, of all files together. */
export class CollectionLimit {
  readonly bytes: number
  /** The bytes of the files that are read at the moment. */
  used = 0

  constructor(bytes: number) {
    this.bytes = bytes
  }
}

export class Collected<A> {
  readonly #limit: CollectionLimit
  #parts: Array<A> | undefined = []
  #bytes = 0

  constructor(limit: CollectionLimit) {
    this.#limit = limit
  }

  /** All parts of the file; undefined where they exceeded the limit. */
  get parts(): Array<A> | undefined {
    return this.#parts
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Beyond the limit, nothing of the file is kept. */
  add(part: A, bytes: number) {
    if (this.#parts === undefined) return
    if (this.#limit.used + bytes > this.#limit.bytes) {
      this.release()
      this.#parts = undefined
      return
    }
    this.#parts.push(part)
    this.#bytes += bytes
    this.#limit.used += bytes
  }

  /** Makes room for other files. */
  release() {
    this.#limit.used -= this.#bytes
    this.#bytes = 0
  }
}

/** Collects a file until the scope closes. */
export const collecting = <A>(limit: CollectionLimit): Effect.Effect<Collected<A>, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => new Collected<A>(limit)),
    (collected) => Effect.sync(() => collected.release()),
  )
