/**
 * Compiles a plan to a machine. Each state of the workflow is a state of the machine. Manual transitions are events. Automatic
 * transitions are the machine's automatic transitions, taken in one decision and one commit as long as their processors are pure.
 * Criteria are guards. Processors with effects are effect slots, run by the work of the state.
 */
import { Event, type Persistence, Slot, State } from "@detent/machine"
import {
  type AlwaysDeclaration,
  type Declarations,
  type DeclaredEffect,
  fromDeclarations,
  pairKey,
  type Tagged,
  type TransitionDeclaration,
} from "@detent/machine/internal"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { type Context, Decisions } from "./Decisions.ts"
import { EntityError } from "./EntityError.ts"
import { failedFields, failedTag, processedFields, processedTag, triggerFields, updateFields, updateTag } from "./EntityEvent.ts"
import { type AnyState, stateFields, workingFields } from "./EntityState.ts"
import { makeCheck } from "./Judge.ts"
import type { Plan, PlannedTransition, StatePlan } from "./Plan.ts"
import { type SlotParameters, work } from "./Work.ts"
import { workflowBlueprint } from "./WorkflowBlueprint.ts"

export interface CompileOptions {
  readonly persistence?: Persistence<string> | undefined
}

/** Stores the entity with every transition: recovery reads the result of a processor instead of running the processor again. */
const everyTransition: Persistence<string> = { snapshot: { _tag: "EveryTransition" } }

// Work fails only if the store fails, so it is restarted until the store answers.
const supervision = Schedule.min([Schedule.exponential("200 millis"), Schedule.spaced("30 seconds")])

export const compileWorkflow = (plan: Plan, options: CompileOptions) => {
  const { name, version = 1, initial } = plan.definition
  const check = makeCheck(plan.registry.entity)
  const decisions = new Decisions(plan, check)
  const declared = [...plan.states.values()].map((one) => declareState(one, decisions))
  const working = [...plan.states.values()].filter((one) => one.works)
  const runWork = work(plan, check)
  const declarations: Declarations = {
    name,
    version,
    state: statesOf(plan) as never,
    event: eventsOf(plan) as never,
    initial: (entity) => ({ _tag: initial, entity }) as Tagged,
    ...slotsOf(plan),
    processingTimeout: undefined,
    supervision,
    transitions: new Map(
      declared.flatMap((one) => one.transitions.map((declaration) => [pairKey(declaration.from, declaration.event), declaration])),
    ),
    fallbacks: new Map(),
    timeouts: new Map(),
    always: declared.flatMap((one) => one.always),
    hooks: [],
    works: working.map(({ state }) => ({ state, work: runWork as never, when: isPending, outcomes: undefined })),
    backgrounds: [],
    finals: plan.ends,
    persistence: options.persistence ?? everyTransition,
    count: 0,
    blueprint: () => workflowBlueprint(plan.definition),
  }
  return fromDeclarations(declarations)
}

/** Without a pending transition, the instance has no work and can be passivated. Starting processors enters the state again. */
const isPending = (state: Tagged): boolean => (state as AnyState).pending !== undefined

const statesOf = ({ definition, registry, states }: Plan) => {
  const fields = stateFields(registry.entity)
  const working = workingFields(registry.entity)
  return State(Object.fromEntries(definition.states.map((state) => [state, states.get(state)?.works === true ? working : fields])))
}

const eventsOf = ({ transitions, registry }: Plan) => {
  const trigger = triggerFields(registry.entity)
  return Event({
    ...Object.fromEntries(transitions.filter((one) => one.manual).map((one) => [one.name, trigger])),
    [updateTag]: updateFields(registry.entity),
    [processedTag]: processedFields(registry.entity),
    [failedTag]: failedFields,
  })
}

/** The criteria and processors of the workflow as slots of the machine, so that tests can replace them. */
const slotsOf = ({ transitions, registry }: Plan): Pick<Declarations, "guardSlots" | "effectSlots" | "handlers"> => {
  const criteria = [...new Set(transitions.flatMap((one) => one.criteria))]
  const steps = new Map(transitions.flatMap((one) => one.steps).map(({ name, processor }) => [name, processor]))
  const effects = [...steps].flatMap(([name, processor]) => (processor._tag === "Effect" ? [[name, processor] as const] : []))
  const { entity } = registry
  const slot = Slot.effect(
    {
      entity,
      key: Schema.String,
      attempt: Schema.Int,
      argument: Schema.UndefinedOr(Schema.Json),
      error: Schema.UndefinedOr(EntityError),
    },
    { success: entity, failure: Schema.Unknown },
  )
  return {
    guardSlots: Object.fromEntries(criteria.map((name) => [name, { entity }])),
    effectSlots: Object.fromEntries(effects.map(([name]) => [name, slot as unknown as DeclaredEffect])),
    handlers: Object.fromEntries([
      ...criteria.map((name) => {
        const criterion = registry.criteria[name]
        return [name, (asked: { entity: object }, { at }: { at: number }) => criterion?.(asked.entity, { at }) === true]
      }),
      ...effects.map(([name, processor]) => [
        name,
        ({ entity, ...context }: SlotParameters, { id }: { id: string }) => processor.run(entity, { ...context, id }),
      ]),
    ]),
  }
}

interface DeclaredState {
  readonly transitions: ReadonlyArray<TransitionDeclaration>
  readonly always: ReadonlyArray<AlwaysDeclaration>
}

const declareState = (here: StatePlan, decisions: Decisions): DeclaredState => {
  const { state, failure } = here
  const onFailure = failure === undefined ? [] : [failure.to]
  const on = (event: string, targets: ReadonlyArray<string>, decide: (context: Context<never>) => unknown): TransitionDeclaration => ({
    ...undeclared,
    from: state,
    event,
    targets: targetsOf(targets),
    decide: decide as TransitionDeclaration["decide"],
  })
  const pending = [...here.byName.values()].filter((one) => one.effectful)
  const reached = [state, ...pending.map((one) => one.to), ...onFailure]
  return {
    transitions: [
      ...here.manual.map((one) => on(one.name, outcomesOf(one, here), (context) => decisions.manual(one, context))),
      on(updateTag, [state], (context) => decisions.update(context)),
      ...(here.works
        ? [
            on(processedTag, reached, (context) => decisions.processed(context)),
            on(failedTag, [state, ...onFailure], (context) => decisions.failed(context)),
          ]
        : []),
    ],
    always: [
      ...(mayReenter(here) ? [automatic(state, [state], isEntering, ({ state }) => decisions.reentered(state))] : []),
      ...here.automatic.map((one, position) =>
        automatic(
          state,
          outcomesOf(one, here),
          (context) => decisions.isDue(one, position, context),
          (context) => decisions.automatic(one, context),
        ),
      ),
    ],
  }
}

const isEntering = ({ state }: Context): boolean => state.entering === true

/** The states that a transition may lead to: its target; the same state, with running processors or an error; the failure target. */
const outcomesOf = ({ to, steps }: PlannedTransition, { state, failure }: StatePlan): ReadonlyArray<string> =>
  steps.length === 0 ? [to] : [to, state, ...(failure === undefined ? [] : [failure.to])]

const mayReenter = ({ works, state, byName }: StatePlan): boolean => works || [...byName.values()].some((one) => one.to === state)

const automatic = (
  from: string,
  targets: ReadonlyArray<string>,
  guard: (context: Context) => boolean,
  decide: (context: Context) => unknown,
): AlwaysDeclaration => ({
  from,
  targets: targetsOf(targets),
  guard: guard as AlwaysDeclaration["guard"],
  decide: decide as AlwaysDeclaration["decide"],
  order: 0,
  place: {},
})

const undeclared = { kind: "on", guard: undefined, guardName: undefined, description: undefined, order: 0, place: {} } as const

const targetsOf = (tags: ReadonlyArray<string>) => [...new Set(tags)].map((tag) => ({ tag, reason: undefined }))
