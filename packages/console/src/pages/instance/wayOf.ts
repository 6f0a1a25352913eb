/** The path of an instance through its diagram, up to a step. */
import type { HistoryEntry } from "../../api/types.ts"

type AnyState = HistoryEntry["state"]

/** `taken` has transitions as `from to`; `here` has several states where a statechart has regions. */
interface Way {
  readonly visited: ReadonlySet<string>
  readonly taken: ReadonlySet<string>
  readonly here: ReadonlySet<string>
}

export const wayOf = (entries: ReadonlyArray<HistoryEntry>, at: number, current: AnyState): Way => {
  const before = entries.filter(({ sequence }) => sequence <= at)
  const visited = new Set<string>()
  const taken = new Set<string>()
  let left: ReadonlyArray<string> | undefined
  for (const { from, through, state, outcome } of before) {
    const reached = innermost(state)
    left ??= [from]
    for (const stop of [...left, ...through, ...reached]) visited.add(stop)
    if (through.length > 0 || (reached.length === 1 && left.length === 1)) {
      const stops = [left[0] ?? from, ...through, reached[0] ?? state._tag]
      if (outcome === "Goto") for (const [index, stop] of stops.entries()) if (index > 0) taken.add(`${stops[index - 1]} ${stop}`)
    } else {
      const were = new Set(left)
      const are = new Set(reached)
      for (const source of left) if (!are.has(source)) for (const target of reached) if (!were.has(target)) taken.add(`${source} ${target}`)
    }
    left = reached
  }
  const last = before.at(-1)
  const first = entries[0]
  const here = last !== undefined ? innermost(last.state) : first !== undefined ? [first.from] : innermost(current)
  return { visited, taken, here: new Set(here) }
}

/** The tag of a state; for a statechart, the paths of the innermost active states, one per region. */
const innermost = (state: AnyState): ReadonlyArray<string> => {
  const leaves = isChart(state) ? leavesOf(state["value"], "") : []
  return leaves.length === 0 ? [state._tag] : leaves
}

/** Whether the state belongs to a statechart with nested states. */
export const isChart = (state: AnyState): boolean => {
  const { value, context, status } = state as AnyState & Readonly<Record<string, unknown>>
  return typeof value === "object" && value !== null && context !== undefined && typeof status === "string"
}

const leavesOf = (value: unknown, path: string): ReadonlyArray<string> => {
  const below = (key: string) => (path === "" ? key : `${path}.${key}`)
  if (typeof value === "string") return [below(value)]
  const entries = typeof value === "object" && value !== null ? Object.entries(value) : []
  if (entries.length === 0) return path === "" ? [] : [path]
  return entries.flatMap(([key, inner]) => leavesOf(inner, below(key)))
}
