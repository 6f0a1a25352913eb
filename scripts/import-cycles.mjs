/** Finds cycles in a graph of imports. */

/**
 * One shortest cycle for each group of files that reach one another, so that breaking every reported cycle and checking again
 * ends with none.
 *
 * @param {ReadonlyMap<string, ReadonlyArray<string>>} imports what each file imports; every file is a key
 * @returns {ReadonlyArray<ReadonlyArray<string>>} each cycle starts with its first file by name and does not repeat it at the end
 */
export function importCycles(imports) {
  return components(imports)
    .filter((files) => files.length > 1 || imports.get(files[0] ?? "")?.includes(files[0] ?? ""))
    .map((files) => shortestCycle(imports, new Set(files)))
    .sort((a, b) => (a[0] ?? "").localeCompare(b[0] ?? ""))
}

/**
 * The strongly connected components (Tarjan's algorithm).
 *
 * @param {ReadonlyMap<string, ReadonlyArray<string>>} imports
 */
function components(imports) {
  /** @type {Map<string, number>} */
  const order = new Map()
  /** @type {Map<string, number>} */
  const lowest = new Map()
  /** @type {Array<string>} */
  const stack = []
  const onStack = new Set()
  /** @type {Array<Array<string>>} */
  const found = []
  /** @param {string} file */
  const visit = (file) => {
    const own = order.size
    order.set(file, own)
    lowest.set(file, own)
    stack.push(file)
    onStack.add(file)
    for (const other of imports.get(file) ?? []) {
      if (!order.has(other)) visit(other)
      else if (!onStack.has(other)) continue
      lowest.set(file, Math.min(lowest.get(file) ?? own, lowest.get(other) ?? own))
    }
    if (lowest.get(file) !== own) return
    const component = stack.splice(stack.indexOf(file))
    for (const member of component) onStack.delete(member)
    found.push(component)
  }
  for (const file of imports.keys()) if (!order.has(file)) visit(file)
  return found
}

/**
 * @param {ReadonlyMap<string, ReadonlyArray<string>>} imports
 * @param {ReadonlySet<string>} component
 */
function shortestCycle(imports, component) {
  /** @type {ReadonlyArray<string>} */
  let shortest = []
  for (const start of [...component].sort()) {
    const cycle = wayBack(imports, component, start)
    if (shortest.length === 0 || cycle.length < shortest.length) shortest = cycle
  }
  return shortest
}

/**
 * The shortest path from a file back to itself, breadth first.
 *
 * @param {ReadonlyMap<string, ReadonlyArray<string>>} imports
 * @param {ReadonlySet<string>} component
 * @param {string} start
 * @returns {ReadonlyArray<string>}
 */
function wayBack(imports, component, start) {
  const seen = new Set()
  let ways = [[start]]
  while (ways.length > 0) {
    /** @type {Array<Array<string>>} */
    const longer = []
    for (const way of ways) {
      for (const next of imports.get(way.at(-1) ?? start) ?? []) {
        if (next === start) return way
        if (!component.has(next) || seen.has(next)) continue
        seen.add(next)
        longer.push([...way, next])
      }
    }
    ways = longer
  }
  return []
}
