/**
 * The machine of a chart: compound states are groups, atomic and final states are states. All events of a chart are one event of the
 * machine, whose transitions are distinguished by guards that fall through from a state to the groups around it.
 */
import { Event, history, Machine, State, spawn, stay } from "@detent/machine"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { type Arc, type Chart, defaultLeaf, firstInside, type HistoryVertex, initialOf, isInside, type Vertex } from "./chart.ts"
import type { Entering, Raise, Session, Signal } from "./session.ts"

/** The methods of a machine whose states are known only when it runs. */
interface Loose {
  readonly on: (...given: ReadonlyArray<unknown>) => Loose
  readonly always: (...given: ReadonlyArray<unknown>) => Loose
  readonly enter: (...given: ReadonlyArray<unknown>) => Loose
  readonly exit: (...given: ReadonlyArray<unknown>) => Loose
  readonly done: (...given: ReadonlyArray<unknown>) => Loose
  readonly final: (...given: ReadonlyArray<unknown>) => Loose
}

interface Context {
  readonly self: { readonly send: (event: unknown) => void }
  readonly event: { readonly signal: Signal }
}

const E = Event({ Signal: { signal: Schema.Unknown } })

type Made = () => { readonly _tag: string }

/** What a session does with its machine. */
export interface Driven {
  readonly start: () => void
  readonly send: (signal: Signal) => void
  readonly configuration: () => ReadonlyArray<string>
  /** The final state of the chart in which it has ended. */
  readonly final: () => Vertex | undefined
}

export const driven = (session: Session): Driven => {
  const { chart } = session
  const S = State(definitionsOf(chart, chart.root) as Record<string, never>) as unknown as Readonly<Record<string, Made>>
  const leaves = [...chart.vertices.values()].filter(({ children }) => children.length === 0)
  const ends = leaves.filter((leaf) => leaf.isFinal && leaf.parent === chart.root)
  const lasting = leaves.filter((leaf) => !ends.includes(leaf))
  const first = defaultLeaf(chart, chart.root)
  const raising =
    ({ self }: Context): Raise =>
    (signal) =>
      self.send(E.Signal({ signal }))

  let machine = Machine.make({
    name: "chart",
    state: S as never,
    event: E,
    initial: (() => S[first.leaf.id]?.()) as never,
  }) as unknown as Loose
  for (const vertex of chart.vertices.values()) {
    machine = machine
      .enter(S[vertex.id], (context: Context) => session.enter(vertex, raising(context)))
      .exit(S[vertex.id], (context: Context) => session.exit(vertex, raising(context)))
    if (vertex.isFinal && vertex.parent !== undefined && vertex.parent !== chart.root)
      machine = machine.done(S[vertex.parent.id], S[vertex.id], (context: Context) =>
        E.Signal({ signal: session.done(vertex, raising(context)) }),
      )
  }
  if (lasting.length > 0) {
    // An event that no transition takes is dropped.
    const all = lasting.map(({ id }) => S[id])
    machine = machine.on(all, E.Signal, stay, ({ event }: Context) => {
      session.event = event.signal
      return stay
    })
  }
  for (const vertex of outsideIn(chart.root)) {
    for (const arc of [...vertex.arcs].reverse().filter(({ events }) => events !== undefined)) {
      const { targets, choose } = wayOf(session, S, arc)
      // What is declared for the states of a group, and not for the group, leaves the group alone.
      const isWithin = vertex === chart.root || staysInside(chart, arc)
      const sources = isWithin ? lasting.filter((one) => isInside(one, vertex)).map(({ id }) => S[id]) : S[vertex.id]
      machine = machine.on(sources, E.Signal, targets, (context: Context) => choose(raising(context)), {
        fallThrough: true,
        guard: ({ event }: Context) => session.matches(arc, event.signal),
        reenter: arc.target !== undefined,
      })
    }
  }
  for (const vertex of [...outsideIn(chart.root)].reverse()) {
    for (const arc of vertex.arcs.filter(({ events }) => events === undefined)) {
      if (arc.target !== undefined) {
        const { targets, choose } = wayOf(session, S, arc)
        machine = machine.always(
          S[vertex.id],
          () => session.holds(arc.condition),
          targets,
          (context: Context) => choose(raising(context)),
        )
        continue
      }
      for (const leaf of lasting.filter((one) => one === vertex || isInside(one, vertex)))
        machine = machine.always(
          S[leaf.id],
          () => session.holds(arc.condition),
          S[leaf.id],
          (context: Context) => {
            session.stayQuietly(arc, raising(context))
            return S[leaf.id]?.()
          },
        )
    }
  }
  if (ends.length > 0) machine = machine.final(...ends.map(({ id }) => S[id]))

  let actor:
    | { readonly sendUnsafe: (event: unknown) => unknown; readonly snapshotUnsafe: () => { readonly state: { readonly _tag: string } } }
    | undefined
  const state = () => actor?.snapshotUnsafe().state._tag ?? ""
  return {
    start: () => {
      session.begin(first.entering.get(chart.root) ?? [], first.entering)
      actor = Effect.runSync(Scope.provide(spawn(machine as never, undefined as never), Scope.makeUnsafe())) as never
    },
    send: (signal) => {
      const exit = actor?.sendUnsafe(E.Signal({ signal })) as Exit.Exit<void, unknown> | undefined
      if (exit !== undefined && Exit.isFailure(exit) && chart.vertices.get(state())?.isFinal !== true) throw new Error(String(exit.cause))
    },
    configuration: () => [state()],
    final: () => ends.find(({ id }) => id === state()),
  }
}

/** Groups name the child they are entered at, where that is a child and not a state deeper inside. */
const definitionsOf = (chart: Chart, vertex: Vertex): Record<string, object> =>
  Object.fromEntries(
    vertex.children.map((child) => {
      if (child.children.length === 0) return [child.id, {}]
      const members = definitionsOf(chart, child) as Record<string, never>
      const initial = canBeEntered(chart, child) ? firstInside(chart, child)?.id : undefined
      return [child.id, State.group(members, initial === undefined ? undefined : { initial })]
    }),
  )

const canBeEntered = (chart: Chart, vertex: Vertex): boolean => {
  const first = firstInside(chart, vertex)
  return vertex.children.length === 0 || (first !== undefined && first.parent === vertex && canBeEntered(chart, first))
}

/** Every state after the one around it, in document order. */
const outsideIn = (vertex: Vertex): ReadonlyArray<Vertex> => [vertex, ...vertex.children.flatMap(outsideIn)]

/** An internal transition of a compound state to a state inside leaves only what is inside. */
const staysInside = ({ vertices, histories }: Chart, { source, target = "", isInternal }: Arc): boolean => {
  const to = vertices.get(target) ?? histories.get(target)?.parent
  return isInternal && source.children.length > 0 && to !== undefined && isInside(to, source)
}

interface Way {
  readonly targets: ReadonlyArray<unknown>
  readonly choose: (raise: Raise) => unknown
}

const wayOf = (session: Session, S: Readonly<Record<string, Made>>, arc: Arc): Way => {
  const { chart } = session
  const { target } = arc
  const past = chart.histories.get(target ?? "")
  if (past !== undefined) return wayBack(session, S, arc, past, [])
  const vertex = chart.vertices.get(target ?? "")
  if (target === undefined || vertex === undefined) {
    return {
      targets: [stay],
      choose: (raise) => {
        session.take(arc, new Map(), raise)
        return stay
      },
    }
  }
  const { leaf, entering } = defaultLeaf(chart, vertex)
  const entered = vertex.children.length > 0 && canBeEntered(chart, vertex) ? S[vertex.id] : S[leaf.id]
  const remembered = vertex.children.length > 0 ? chart.histories.get(initialOf(vertex).target) : undefined
  if (remembered !== undefined) return wayBack(session, S, arc, remembered, [entered])
  return {
    targets: [entered],
    choose: (raise) => {
      session.take(arc, entering, raise)
      return S[leaf.id]?.()
    },
  }
}

/** A chart may name another state than the initial one for a history that there is none of. */
const wayBack = (
  session: Session,
  S: Readonly<Record<string, Made>>,
  arc: Arc,
  { parent, isDeep, fallback }: HistoryVertex,
  also: ReadonlyArray<unknown>,
): Way => {
  const { chart } = session
  const { leaf, entering } = defaultLeaf(chart, chart.vertices.get(fallback.target ?? "") ?? parent)
  const back = history(S[parent.id] as never, isDeep ? "deep" : "shallow")
  // Where the transition leads to the parent, the content of its initial transition runs as well.
  const initial = also.length === 0 ? [] : initialOf(parent).content
  const known: Entering = new Map([[parent, initial]])
  const unknown: Entering = new Map([...entering, [parent, [...initial, ...fallback.content]]])
  return {
    targets: [back, S[leaf.id], ...also],
    choose: (raise) => {
      const isKnown = session.left.has(parent) || (also.length > 0 && session.active.has(parent))
      session.take(arc, isKnown ? known : unknown, raise)
      return isKnown ? back : S[leaf.id]?.()
    },
  }
}
