/**
 * Refuses a chart with parts that cannot be durable, when the machine is defined. Lists all of them, each with its path and the next step.
 */
import { DefinitionError } from "@detent/machine"
import type { AnyStateMachine, AnyStateNode } from "xstate"
import { namedActor } from "./ActorKind.ts"
import type { Chart } from "./Chart.ts"
import { NotPlainData, storable } from "./PlainData.ts"

interface Problem {
  /** Such as `checkout.payment.entry[0]`. */
  readonly path: string
  readonly problem: string
  readonly nextStep: string
}

/** Custom actions of a chart, by name, and whether the machine has an implementation of its own. */
export interface FoundActions {
  readonly names: ReadonlySet<string>
  readonly own: ReadonlySet<string>
}

type Given = Readonly<Record<string, unknown>>

export const checkChart = (name: string, chart: Chart, given: { readonly actions: Given; readonly actors: Given }): FoundActions => {
  const { machine } = chart
  const problems: Array<Problem> = []
  const names = new Set<string>()
  const own = new Set<string>()
  const addNamed = (action: string, path: string) => {
    const implemented = machine.implementations.actions[action] as unknown
    if (given.actions[action] === undefined && isBuiltIn(implemented)) return
    if (given.actions[action] === undefined && typeof implemented !== "function") {
      problems.push({
        path,
        problem: `the action ${action} has no implementation`,
        nextStep: "give it in setup({ actions }) or in fromXState",
      })
      return
    }
    names.add(action)
    if (!hasRun(given.actions[action])) own.add(action)
  }
  for (const node of chart.nodes) {
    for (const { path, action } of actionsOf(node)) {
      if (isBuiltIn(action)) {
        problems.push(...spawnProblems(machine, action, path))
        continue
      }
      if (typeof action === "function") {
        const label = action.name === "" ? "an inline action" : `the inline action ${action.name}`
        problems.push({
          path,
          problem: `${label} may close over values that a restart loses`,
          nextStep: "name it in setup({ actions }) and refer to it by that name",
        })
      } else addNamed(typeof action === "string" ? action : String((action as { readonly type: unknown }).type), path)
    }
    problems.push(...guardProblems(machine, node), ...delayProblems(machine, node), ...invokeProblems(machine, node))
  }
  // Actions that enqueueActions may enqueue by name.
  for (const action of [...Object.keys(machine.implementations.actions), ...Object.keys(given.actions)])
    addNamed(action, `actions.${action}`)
  problems.push(...nameProblems(chart), ...actorProblems(chart, given.actors), ...contextProblems(machine))
  if (problems.length > 0) throw refusal(name, problems)
  return { names, own }
}

/** States such as `(error)` and events such as `(xstate.stop)` belong to the instance, not to the chart. */
const nameProblems = ({ nodes, eventTypes }: Chart): ReadonlyArray<Problem> =>
  [
    ...nodes.filter(({ key, parent }) => parent !== undefined && key.startsWith("(")).map(pathOf),
    ...eventTypes.filter((type) => type.startsWith("(")),
  ].map((path) => ({
    path,
    problem: "names in parentheses are reserved",
    nextStep: "choose a name that does not begin with a parenthesis",
  }))

const refusal = (machine: string, problems: ReadonlyArray<Problem>) =>
  new DefinitionError({
    machine,
    problem: problems.map(({ path, problem }) => `${path}: ${problem}`).join("; "),
    nextStep: [...new Set(problems.map(({ nextStep }) => nextStep))].join("; "),
  })

/** Actions that XState resolves itself: assign, raise, sendTo and the like. */
const isBuiltIn = (action: unknown): action is BuiltIn => typeof action === "function" && "resolve" in action

interface BuiltIn {
  readonly type?: unknown
  readonly src?: unknown
  readonly id?: unknown
  readonly systemId?: unknown
}

/** An actor that is spawned is found again by the name of its logic and by its id. */
const spawnProblems = (machine: AnyStateMachine, { type, src, id, systemId }: BuiltIn, path: string): ReadonlyArray<Problem> => {
  if (type !== "xstate.spawnChild") return []
  if (typeof src !== "string")
    return [{ path, problem: "spawn of logic without a name", nextStep: "name it in setup({ actors }) and spawn it by that name" }]
  if (machine.implementations.actors[src] === undefined)
    return [{ path, problem: `the actor ${src} has no implementation`, nextStep: "give it in setup({ actors })" }]
  if (id === undefined) return [{ path, problem: `spawn of ${src} without an id`, nextStep: "pass { id }" }]
  return systemId === undefined ? [] : [systemIdProblem(path)]
}

const systemIdProblem = (path: string): Problem => ({
  path,
  problem: "a systemId names an actor of one process",
  nextStep: "refer to the actor by its id",
})

const hasRun = (implementation: unknown): boolean =>
  typeof implementation === "function" || (typeof implementation === "object" && implementation !== null && "run" in implementation)

const pathOf = (node: AnyStateNode): string => [node.machine.id, ...node.path].join(".")

const actionsOf = (node: AnyStateNode): ReadonlyArray<{ readonly path: string; readonly action: unknown }> => {
  const at = pathOf(node)
  const list = (where: string, actions: ReadonlyArray<unknown>) =>
    actions.map((action, index) => ({ path: `${at}.${where}[${index}]`, action }))
  return [
    ...list("entry", node.entry),
    ...list("exit", node.exit),
    ...transitionsOf(node).flatMap(({ where, actions }) => list(`${where}.actions`, actions)),
    ...(node.type === "compound" ? list("initial.actions", node.initial.actions) : []),
  ]
}

const transitionsOf = (node: AnyStateNode) => [
  ...[...node.transitions].flatMap(([type, all]) =>
    all.map(({ actions, guard }) => ({ where: `on[${JSON.stringify(type)}]`, actions, guard: guard as unknown })),
  ),
  ...(node.always ?? []).map(({ actions, guard }) => ({ where: "always", actions, guard: guard as unknown })),
]

const guardProblems = (machine: AnyStateMachine, node: AnyStateNode): ReadonlyArray<Problem> =>
  transitionsOf(node).flatMap(({ where, guard }) => {
    const named =
      typeof guard === "string" ? guard : typeof guard === "object" && guard !== null && "type" in guard ? guard.type : undefined
    if (named === undefined || machine.implementations.guards[String(named)] !== undefined) return []
    const path = `${pathOf(node)}.${where}`
    return [{ path, problem: `the guard ${String(named)} has no implementation`, nextStep: "give it in setup({ guards })" }]
  })

const delayProblems = (machine: AnyStateMachine, node: AnyStateNode): ReadonlyArray<Problem> =>
  Object.keys(node.config.after ?? {}).flatMap((delay) =>
    Number.isFinite(Number(delay)) || machine.implementations.delays[delay] !== undefined
      ? []
      : [{ path: `${pathOf(node)}.after`, problem: `the delay ${delay} has no implementation`, nextStep: "give it in setup({ delays })" }],
  )

const invokeProblems = (machine: AnyStateMachine, node: AnyStateNode): ReadonlyArray<Problem> =>
  node.invoke.flatMap(({ src, systemId }, index): ReadonlyArray<Problem> => {
    const path = `${pathOf(node)}.invoke[${index}]`
    const configured = [node.config.invoke ?? []].flat()[index]?.src as unknown
    const logic = typeof configured === "string" ? machine.implementations.actors[configured] : configured
    if (systemId !== undefined) return [systemIdProblem(path)]
    if (logic === undefined) return [{ path, problem: `the actor ${src} has no implementation`, nextStep: "give it in setup({ actors })" }]
    return []
  })

/** Logic with a state of its own, and implementations for actors that the chart does not have. */
const actorProblems = (chart: Chart, given: Given): ReadonlyArray<Problem> => [
  ...Object.entries(chart.machine.implementations.actors).flatMap(([name, logic]) =>
    namedActor(logic as never) === undefined
      ? [{ path: `actors.${name}`, problem: "the state of fromTransition logic is lost with its process", nextStep: "make it a machine" }]
      : [],
  ),
  ...Object.keys(given).flatMap((name) =>
    chart.actors.get(name)?.kind === "promise" || chart.actors.get(name)?.kind === "machine"
      ? []
      : [
          {
            path: `actors.${name}`,
            problem: "it is neither a promise nor a machine of this chart",
            nextStep: "name one that setup({ actors }) makes with fromPromise",
          },
        ],
  ),
]

const contextProblems = ({ config }: AnyStateMachine): ReadonlyArray<Problem> => {
  const { context } = config as { readonly context?: unknown }
  if (typeof context === "function") return []
  try {
    storable(context, "context")
    return []
  } catch (cause) {
    if (!(cause instanceof NotPlainData)) throw cause
    return [{ path: cause.path, problem: cause.message, nextStep: "move functions into actions and actors" }]
  }
}
