/**
 * Decides `leadsTo`: searches the situations without the goal for a run that stays there for ever and is fair. A run is fair if no
 * step that must come remains possible for ever without being taken: timers fire, results of effects arrive, and what the machine
 * sends itself is handled. Events of senders may never come.
 */
import type { Search } from "./Search.ts"

export interface Lasso {
  /** Situations from the cause to the loop, the first one included. */
  readonly way: ReadonlyArray<number>
  /** The situations that the run passes again and again; none where nothing has to happen any more. */
  readonly loop: ReadonlyArray<number>
}

/** Finds a run from a situation with the cause that never reaches the goal. `isGoal` and `isCause` are by number. */
export const findEndlessRun = (search: Search, isGoal: Uint8Array, isCause: Uint8Array): Lasso | undefined => {
  const components = componentsOf(search, isGoal)
  const avoiding = new Map<number, number>()
  const loops = components.filter((component) => isFair(search, component))
  // Backwards from the loops: which situations can reach one without passing a goal.
  const before = predecessors(search, isGoal)
  const queue = loops.flat()
  for (const number of queue) avoiding.set(number, number)
  for (let next = 0; next < queue.length; next++) {
    const to = queue[next] as number
    for (const from of before.get(to) ?? []) {
      if (avoiding.has(from)) continue
      avoiding.set(from, to)
      queue.push(from)
    }
  }
  // Numbers grow with the distance from the start.
  for (let number = 0; number < isGoal.length; number++) {
    if (isCause[number] !== 1 || !avoiding.has(number)) continue
    const way = [number]
    for (let at = number; avoiding.get(at) !== at; at = avoiding.get(at) as number) way.push(avoiding.get(at) as number)
    const last = way.at(-1) as number
    return { way, loop: cycleThrough(search, loops.find((loop) => loop.includes(last)) ?? [last], last) }
  }
  return undefined
}

const predecessors = (search: Search, isGoal: Uint8Array): ReadonlyMap<number, ReadonlyArray<number>> => {
  const before = new Map<number, Array<number>>()
  for (let from = 0; from < isGoal.length; from++) {
    if (isGoal[from] === 1) continue
    search.forEdges(from, (to) => {
      if (isGoal[to] === 1 || to === from) return
      const list = before.get(to)
      if (list === undefined) before.set(to, [from])
      else list.push(from)
    })
  }
  return before
}

/**
 * A run may stay in these situations for ever, and be fair: each step that must come is taken there, is not always possible, or begins
 * to wait anew again and again.
 */
const isFair = (search: Search, component: ReadonlyArray<number>): boolean => {
  const inside = new Set(component)
  const taken = new Set<number>()
  let always: Set<number> | undefined
  for (const from of component) {
    const possible = new Set<number>()
    search.forEdges(from, (to, fair, restarts) => {
      if (fair !== 0) possible.add(fair)
      if (!inside.has(to)) return
      taken.add(fair)
      for (const restarted of restarts) taken.add(restarted)
    })
    always = always === undefined ? possible : new Set([...always].filter((fair) => possible.has(fair)))
  }
  return [...(always ?? [])].every((fair) => taken.has(fair))
}

/** A cycle from a situation back to it, within a component. Empty where the run may rest there. */
const cycleThrough = (search: Search, component: ReadonlyArray<number>, start: number): ReadonlyArray<number> => {
  if (component.length === 1) {
    let rests = true
    search.forEdges(start, (_, fair) => {
      if (fair !== 0) rests = false
    })
    return rests ? [] : [start]
  }
  const inside = new Set(component)
  const from = new Map<number, number>()
  const queue = [start]
  for (let next = 0; next < queue.length; next++) {
    const at = queue[next] as number
    let closes = false
    search.forEdges(at, (to) => {
      if (to === start && at !== start) closes = true
      if (!inside.has(to) || from.has(to) || to === start) return
      from.set(to, at)
      queue.push(to)
    })
    if (!closes) continue
    const cycle = [at]
    for (let back = at; back !== start; back = from.get(back) as number) cycle.push(from.get(back) as number)
    return cycle.reverse()
  }
  return [start]
}

/** The strongly connected components of the situations without the goal, by Tarjan's algorithm without recursion. */
const componentsOf = (search: Search, isGoal: Uint8Array): ReadonlyArray<ReadonlyArray<number>> => {
  const count = isGoal.length
  const order = new Int32Array(count).fill(-1)
  const low = new Int32Array(count)
  const onStack = new Uint8Array(count)
  const stack: Array<number> = []
  const components: Array<ReadonlyArray<number>> = []
  let visited = 0
  for (let root = 0; root < count; root++) {
    if (isGoal[root] === 1 || order[root] !== -1) continue
    const calls: Array<{ readonly at: number; readonly targets: ReadonlyArray<number>; next: number }> = []
    const enter = (at: number) => {
      order[at] = visited
      low[at] = visited
      visited++
      stack.push(at)
      onStack[at] = 1
      const targets: Array<number> = []
      search.forEdges(at, (to) => {
        if (isGoal[to] !== 1) targets.push(to)
      })
      calls.push({ at, targets, next: 0 })
    }
    enter(root)
    for (let call = calls.at(-1); call !== undefined; call = calls.at(-1)) {
      const to = call.targets[call.next]
      if (to !== undefined) {
        call.next++
        if (order[to] === -1) enter(to)
        else if (onStack[to] === 1) low[call.at] = Math.min(low[call.at] as number, order[to] as number)
        continue
      }
      calls.pop()
      const caller = calls.at(-1)
      if (caller !== undefined) low[caller.at] = Math.min(low[caller.at] as number, low[call.at] as number)
      if (low[call.at] !== order[call.at]) continue
      const component: Array<number> = []
      let member: number
      do {
        member = stack.pop() as number
        onStack[member] = 0
        component.push(member)
      } while (member !== call.at)
      components.push(component)
    }
  }
  return components
}
