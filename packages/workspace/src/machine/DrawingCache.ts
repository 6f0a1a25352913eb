/**
 * Drawings and layouts of machines, cached by the fingerprint of the machine: a layout blocks the thread for hundreds of milliseconds.
 * Concurrent requests for the same drawing share one layout.
 */
import { createHash } from "node:crypto"
import type { KnownMachine } from "@detent/durable"
import { Layout, Svg } from "@detent/machine/diagram"
import * as Effect from "effect/Effect"

/** How many drawings are kept. The least recently used one is evicted. */
const most = 200

type Drawn<A> = Effect.Effect<A, Svg.DiagramError>

export class DrawingCache {
  readonly #fingerprints = new WeakMap<KnownMachine, string>()
  readonly #drawings = new Map<string, Drawn<unknown>>()

  /** Changes with the structure of the machine. */
  fingerprint(machine: KnownMachine): string {
    const known = this.#fingerprints.get(machine) ?? hashOf(machine)
    this.#fingerprints.set(machine, known)
    return known
  }

  svg(machine: KnownMachine, theme: "light" | "dark"): Drawn<string> {
    return this.#once(`${theme} ${this.fingerprint(machine)}`, Svg.render(machine, { theme: theme === "dark" ? Svg.dark : Svg.light }))
  }

  layout(machine: KnownMachine, direction: "down" | "right"): Drawn<Layout.Layout> {
    return this.#once(`${direction} ${this.fingerprint(machine)}`, Layout.make(machine, { direction }))
  }

  #once<A>(key: string, draw: Drawn<A>): Drawn<A> {
    return Effect.suspend(() => {
      const known = this.#drawings.get(key)
      // All drawings under one key have the same type.
      if (known !== undefined) return this.#keep(key, known as Drawn<A>)
      return Effect.flatMap(Effect.cached(Effect.uninterruptible(draw)), (cached) => this.#keep(key, cached))
    })
  }

  #keep<A>(key: string, drawing: Drawn<A>): Drawn<A> {
    this.#drawings.delete(key)
    this.#drawings.set(key, drawing)
    const [oldest] = this.#drawings.keys()
    if (this.#drawings.size > most && oldest !== undefined) this.#drawings.delete(oldest)
    return drawing
  }
}

const hashOf = ({ blueprint }: KnownMachine): string => createHash("sha256").update(JSON.stringify(blueprint)).digest("hex").slice(0, 16)
