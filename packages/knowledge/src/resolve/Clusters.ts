/**
 * Disjoint sets that know what they must not become: a set carries the identifiers of its members, and two sets that have
 * different values of one kind of identifier are never joined.
 */

/** A kind of identifier and its value: `["isbn", "978-3-16-148410-0"]`. */
export type Identifier = readonly [kind: string, value: string]

export class Clusters {
  readonly #parent: Array<number> = []
  /** Only sets with identifiers have an entry, under their root. */
  readonly #identifiers = new Map<number, ReadonlyMap<string, string>>()

  add(identifiers: ReadonlyArray<Identifier>): number {
    const node = this.#parent.length
    this.#parent.push(node)
    if (identifiers.length > 0) this.#identifiers.set(node, new Map(identifiers))
    return node
  }

  root(node: number): number {
    let root = node
    let parent = this.#parent[root] ?? root
    while (parent !== root) {
      // Halving the path as it is walked keeps later walks short.
      const above = this.#parent[parent] ?? parent
      this.#parent[root] = above
      root = parent
      parent = above
    }
    return root
  }

  isIdentified(node: number): boolean {
    return this.#identifiers.has(this.root(node))
  }

  /** Joins two sets unless their identifiers forbid it. The earlier node becomes the root, so that results do not depend on sizes. */
  join(left: number, right: number): boolean {
    const leftRoot = this.root(left)
    const rightRoot = this.root(right)
    if (leftRoot === rightRoot) return false
    const merged = this.#mergedIdentifiers(leftRoot, rightRoot)
    if (merged === "conflict") return false
    const root = Math.min(leftRoot, rightRoot)
    const child = Math.max(leftRoot, rightRoot)
    this.#parent[child] = root
    this.#identifiers.delete(child)
    if (merged !== undefined) this.#identifiers.set(root, merged)
    return true
  }

  #mergedIdentifiers(left: number, right: number): ReadonlyMap<string, string> | "conflict" | undefined {
    const ofLeft = this.#identifiers.get(left)
    const ofRight = this.#identifiers.get(right)
    if (ofLeft === undefined || ofRight === undefined) return ofLeft ?? ofRight
    for (const [kind, value] of ofRight) if ((ofLeft.get(kind) ?? value) !== value) return "conflict"
    return new Map([...ofLeft, ...ofRight])
  }
}
