/**
 * The core of every machine: from a state and an event to a decision. Pure and synchronous, without fiber or I/O. Actors,
 * durable instances, simulations and analysis all decide with these functions.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import {
  type Beginning,
  type Decision,
  type Hook,
  type NotBegun,
  none,
  type Postponed,
  type Refused,
  type Taken,
  TakenDecision,
} from "../decision/Decision.ts"
import { memoryOf, remember, withMemory } from "../decision/GroupMemory.ts"
import { eventLabel, isOwnEvent, isTimeoutEvent, timersOnEnter, timersOnStay } from "../decision/Timeout.ts"
import { type Compiled, type GroupNode, type Node, type Transition, timeoutOf } from "../define/Compile.ts"
import type { HookFunction, Tagged } from "../define/Declarations.ts"
import {
  ActionFailed,
  describe,
  EndlessTransition,
  InvalidState,
  InvalidTransition,
  MachineStopped,
  type Phase,
  TransitionRefused,
} from "../error/MachineError.ts"
import { Frame, type RecordedAnswers } from "./Frame.ts"

/** More automatic transitions in a row than this are endless. */
export const alwaysLimit = 1000

type Settled = Exclude<Decision<Tagged, Tagged>, { readonly _tag: "Deferred" }>

/** Decides an event, with the requests of `enter` and `exit`. */
export const decide = (compiled: Compiled, state: Tagged, event: Tagged, at: number): Decision<Tagged, Tagged> =>
  step(compiled, state, event, at, runHooks, undefined)

/** Decides again on an event that was accepted before: no hook and no guard runs, guards give their recorded answers. */
export const replay = (compiled: Compiled, state: Tagged, event: Tagged, at: number, recorded: RecordedAnswers): Decision<Tagged, Tagged> =>
  step(compiled, state, event, at, skipHooks, recorded)

/** Decides again as `decide` does, with its hooks and timers, but guards give their recorded answers. */
export const redecide = (
  compiled: Compiled,
  state: Tagged,
  event: Tagged,
  at: number,
  recorded: RecordedAnswers,
): Decision<Tagged, Tagged> => step(compiled, state, event, at, runHooks, recorded)

/** The hooks and timers of a decision. A replay skips them. */
interface Hooks {
  /** Leaves a state and the groups around it from inside out, except for the `kept` outermost. */
  readonly exit: (frame: Frame, node: Node, kept: number, state: Tagged, other: Tagged | undefined) => void
  /** Enters the groups around a state from outside in, except for the `kept` outermost, then the state. */
  readonly enter: (frame: Frame, node: Node, kept: number, state: Tagged, other: Tagged | undefined) => void
  readonly timers: (frame: Frame, node: Node, state: Tagged, entered: boolean, kept: number) => void
}

const step = (
  compiled: Compiled,
  state: Tagged,
  event: Tagged,
  at: number,
  hooks: Hooks,
  recorded: RecordedAnswers | undefined,
): Decision<Tagged, Tagged> => {
  const node = compiled.nodes.get(state._tag)
  let transition = node?.on.get(event._tag)
  let visible: Tagged | undefined = event
  if (transition === undefined) {
    if (node === undefined) return invalid(compiled, state, event)
    if (isTimeoutEvent(event)) {
      transition = timeoutOf(node, event.name)
      visible = undefined
    }
    if (transition === undefined) return unhandled(compiled, node, state, event)
  }
  // No user function is involved, so no frame is needed.
  if (transition.fast && transition.carry !== undefined) {
    const tag = transition.only !== node || transition.reenters ? "Goto" : "Stay"
    return new TakenDecision(tag, state, event, transition.carry(state, event), undefined) as Taken<Tagged, Tagged>
  }
  const frame = new Frame(compiled, state, visible, at)
  frame.recorded = recorded
  let outcome: unknown
  try {
    while (transition.guard !== undefined && !frame.askInline(transition.guard, frame)) {
      if (transition.next === undefined) return refused(compiled, state, event, `${transition.guardName} does not hold`)
      transition = transition.next
    }
    outcome = transition.decide(frame)
  } catch (cause) {
    return failed(compiled, state, event, frame.phaseOf(cause, "decide"), cause)
  }
  if (transition.answers && !isAnswer(outcome)) {
    return failed(compiled, state, event, "decide", new Error(`${eventLabel(event)} requires an answer: return reply(...)`))
  }
  const isState = transition.only !== undefined && (outcome as Tagged | undefined)?._tag === transition.only.tag
  if (!isState && Effect.isEffect(outcome)) return defer(compiled, frame, node as Node, transition, event, outcome, hooks)
  return settle(compiled, frame, node as Node, transition, event, outcome as Tagged, hooks, undefined)
}

const isAnswer = (outcome: unknown): boolean => {
  const tag = (outcome as Tagged | undefined)?._tag
  return tag === "@reply" || tag === "@refuse" || Effect.isEffect(outcome)
}

/** Turns the returned value of a decision into data, then follows automatic transitions and runs hooks. */
const settle = (
  compiled: Compiled,
  frame: Frame,
  node: Node,
  transition: Transition,
  event: Tagged,
  outcome: Tagged,
  hooks: Hooks,
  answer: unknown,
): Settled => {
  const only = transition.only
  const tag = outcome?._tag
  const target = only !== undefined && only.tag === tag ? only : transition.targets.get(tag)
  if (target !== undefined) {
    const changes = target !== node || transition.reenters
    if (node.plain && target.plain) {
      return taken(changes ? "Goto" : "Stay", frame, event, outcome, none, answer, undefined)
    }
    return follow(compiled, frame, node, target, changes, transition.keeps, event, outcome, hooks, answer)
  }
  switch (tag) {
    case "@stay":
      if (transition.mayStay) return follow(compiled, frame, node, node, false, everyGroup, event, frame.state, hooks, answer)
      break
    case "@history": {
      const back = attempt(compiled, frame, event, "decide", () => historyTarget(transition, outcome, node, frame.state, frame.event))
      if (back === undefined) break
      if (isRefused(back)) return back
      const reached = compiled.nodes.get(back._tag) as Node
      const changes = reached !== node || transition.reenters
      return follow(compiled, frame, node, reached, changes, transition.keeps, event, back, hooks, answer)
    }
    case "@stop": {
      if (!transition.mayStop) break
      const failure = attempt(compiled, frame, event, "exit", () => hooks.exit(frame, node, 0, frame.state, undefined))
      if (failure !== undefined) return failure
      return taken("Stop", frame, event, frame.state, none, answer, (outcome as unknown as { reason: string }).reason)
    }
    case "@refuse":
      return refused(compiled, frame.state, event, describe((outcome as unknown as { reason: unknown }).reason))
    case "@reply": {
      const replied = outcome as unknown as { readonly answer: unknown; readonly outcome: Tagged }
      return settle(compiled, frame, node, transition, event, replied.outcome, hooks, replied.answer)
    }
  }
  const declared = [...transition.targets.keys(), ...(transition.mayStay ? ["stay"] : []), ...(transition.mayStop ? ["stop"] : [])]
  const returned = typeof tag === "string" ? tag : describe(outcome)
  return failed(compiled, frame.state, event, "decide", new Error(`the decision returned ${returned}, declared are ${declared.join(", ")}`))
}

/** The state that a decision that returned `history` leads to. Undefined where the transition does not declare it. */
const historyTarget = (
  transition: Transition,
  outcome: Tagged,
  node: Node,
  state: Tagged,
  event: Tagged | undefined,
): Tagged | undefined => {
  const { group, deep } = outcome as unknown as { readonly group: string; readonly deep: boolean }
  const history = transition.histories.find((one) => one.group === group && one.deep === deep)
  // A transition that leaves the group itself leads back to its source state.
  const isLeft = node.groups.findIndex(({ name }) => name === group) >= transition.keeps
  return history?.enter(isLeft ? state : memoryOf(state)?.get(group), state, event)
}

const isRefused = (outcome: Tagged | Refused<Tagged, Tagged>): outcome is Refused<Tagged, Tagged> =>
  "error" in outcome && outcome._tag === "Refused"

/** Leaves and enters states as long as an automatic transition holds. */
const follow = (
  compiled: Compiled,
  frame: Frame,
  node: Node,
  target: Node,
  changes: boolean,
  keeps: number,
  event: Tagged,
  reached: Tagged,
  hooks: Hooks,
  answer: unknown,
): Settled => {
  let state = reached
  let from = node
  let here = target
  let entering = changes
  let moved = changes
  let leaving = frame.state
  /** Groups that this step does not leave, and those that no step so far has left. */
  let keeping = keeps
  let kept = node.groups.length
  let memory = compiled.remembers ? memoryOf(frame.state) : undefined
  const through: Array<Tagged> = []
  for (let rounds = 0; ; rounds++) {
    if (entering) {
      const shared = sharedGroups(from.groups, here.groups, keeping)
      kept = Math.min(kept, shared)
      let phase: Phase = "exit"
      // No closures: a function that captured the variables of this loop would move them all from the stack to the heap.
      try {
        hooks.exit(frame, from, shared, leaving, state)
        phase = "enter"
        hooks.enter(frame, here, shared, state, leaving)
        raiseDone(frame, here, state, leaving)
      } catch (cause) {
        return failed(compiled, frame.state, event, frame.phaseOf(cause, phase), cause)
      }
      for (let index = shared; compiled.remembers && index < from.groups.length; index++) {
        const group = from.groups[index] as GroupNode
        if (group.remembers) memory = remember(memory, group.name, leaving)
      }
      if (memory !== undefined) state = withMemory(state, memory)
    }
    // The state lasts with new data, which do not carry the memory yet.
    else if (memory !== undefined) state = withMemory(state, memory)
    let next: Step | Refused<Tagged, Tagged> | undefined
    let phase: Phase = "always"
    try {
      next = nextAlways(compiled, frame, here, state, event)
      if (next === undefined) {
        phase = "timeout"
        frame.kept = kept
        hooks.timers(frame, here, state, moved, kept)
      }
    } catch (cause) {
      return failed(compiled, frame.state, event, frame.phaseOf(cause, phase), cause)
    }
    if (next === undefined) return taken(moved ? "Goto" : "Stay", frame, event, state, through, answer, undefined)
    if (next instanceof Step) {
      if (rounds === alwaysLimit) return endless(compiled, frame, event, through)
      if (next.node === undefined) {
        try {
          hooks.exit(frame, here, 0, state, undefined)
        } catch (cause) {
          return failed(compiled, frame.state, event, frame.phaseOf(cause, "exit"), cause)
        }
        return taken("Stop", frame, event, state, through, answer, next.reason)
      }
      if (moved) through.push(state)
      moved = true
      from = here
      leaving = state
      here = next.node
      state = next.state
      entering = true
      keeping = everyGroup
      continue
    }
    return next
  }
}

/** Keeps every group that is around both states. */
const everyGroup = Number.POSITIVE_INFINITY

/** How many of the outermost groups are around both states, at most `limit`. */
const sharedGroups = (from: ReadonlyArray<GroupNode>, to: ReadonlyArray<GroupNode>, limit: number): number => {
  const most = Math.min(from.length, to.length, limit)
  let shared = 0
  while (shared < most && from[shared] === to[shared]) shared++
  return shared
}

/** Where an automatic transition leads. Without a node it stops the machine. */
class Step {
  readonly node: Node | undefined
  readonly state: Tagged
  readonly reason: string | undefined
  constructor(node: Node | undefined, state: Tagged, reason: string | undefined) {
    this.node = node
    this.state = state
    this.reason = reason
  }
}

/** Raises the events of groups that a state completes. A replay raises them too. */
const raiseDone = (frame: Frame, node: Node, state: Tagged, other: Tagged | undefined) => {
  for (const done of node.done) frame.send(done(frame.hook(state, other)))
}

const nextAlways = (
  compiled: Compiled,
  frame: Frame,
  node: Node,
  state: Tagged,
  event: Tagged,
): Step | Refused<Tagged, Tagged> | undefined => {
  for (const transition of node.always) {
    const context = frame.from(state)
    if (transition.guard === undefined || !frame.askInline(transition.guard, context)) continue
    const outcome = transition.decide(context) as Tagged & { readonly reason?: string }
    if (outcome._tag === "@stop") return new Step(undefined, state, outcome.reason)
    if (outcome._tag === "@refuse") return refused(compiled, frame.state, event, describe(outcome.reason))
    if (outcome._tag === "@history") {
      const back = historyTarget(transition, outcome, node, state, frame.event)
      if (back !== undefined) return new Step(compiled.nodes.get(back._tag), back, undefined)
    }
    const target = transition.targets.get(outcome._tag)
    if (target === undefined) throw new Error(`an automatic transition of ${node.tag} returned ${outcome._tag}, which it does not declare`)
    return new Step(target, outcome, undefined)
  }
  return undefined
}

const runHooks: Hooks = {
  exit: (frame, node, kept, state, other) => {
    run(frame, "exit", node.exit, node.tag, state, other)
    for (let index = node.groups.length - 1; index >= kept; index--) {
      const group = node.groups[index] as GroupNode
      run(frame, "exit", group.exit, group.name, state, other)
    }
  },
  enter: (frame, node, kept, state, other) => {
    for (let index = kept; index < node.groups.length; index++) {
      const group = node.groups[index] as GroupNode
      run(frame, "enter", group.enter, group.name, state, other)
    }
    run(frame, "enter", node.enter, node.tag, state, other)
  },
  timers: (frame, node, state, entered, kept) => {
    if (entered ? node.timeouts.size > 0 : node.mayRestartTimeout) {
      const before = frame.state
      frame.timers = entered ? timersOnEnter(node, state, frame.at, kept, before) : timersOnStay(node, before, state, frame.at)
    }
  },
}

const run = (
  frame: Frame,
  phase: "enter" | "exit",
  hooks: ReadonlyArray<HookFunction>,
  owner: string,
  state: Tagged,
  other: Tagged | undefined,
) => {
  const raised = frame.sends.length
  for (const hook of hooks) {
    const returned = hook(frame.hook(state, other))
    if (frame.sends.length > raised) frame.raisedByHooks = true
    if (Effect.isEffect(returned)) frame.addHook({ phase, state: owner, effect: returned as Hook["effect"] })
  }
}

const skipHooks: Hooks = { exit: () => undefined, enter: () => undefined, timers: () => undefined }

/** Enters the first state of an instance. */
export const begin = (compiled: Compiled, initial: Tagged, at: number): Beginning<Tagged, Tagged> | NotBegun<Tagged, Tagged> => {
  const node = compiled.nodes.get(initial?._tag)
  // A constant first state was checked when the machine was made.
  const isConstant = initial === compiled.declarations.initial
  const problem =
    node === undefined ? "the machine has no such state" : isConstant ? undefined : compiled.states.get(initial._tag)?.(initial)
  if (node === undefined || problem !== undefined) {
    const error = new InvalidState({ machine: compiled.name, state: String(initial?._tag), problem: String(problem) })
    return { _tag: "Refused", from: initial, event: startEvent, error }
  }
  if (node.plain)
    return { _tag: "Beginning", state: initial, requests: none, sends: none, through: none, hooks: none, timers: none, delays: none }
  const frame = new Frame(compiled, initial, undefined, at)
  try {
    runHooks.enter(frame, node, 0, initial, undefined)
    raiseDone(frame, node, initial, undefined)
  } catch (cause) {
    return failed(compiled, initial, startEvent, frame.phaseOf(cause, "enter"), cause)
  }
  const followed = follow(compiled, frame, node, node, false, everyGroup, startEvent, initial, runHooks, undefined)
  if (followed._tag === "Goto" || followed._tag === "Stay") {
    const last = compiled.nodes.get(followed.state._tag) as Node
    const armed = attempt(compiled, frame, startEvent, "timeout", () => runHooks.timers(frame, last, followed.state, true, 0))
    return armed ?? beginning(frame, followed.state, followed._tag === "Stay" ? none : [initial, ...followed.through])
  }
  if (followed._tag === "Refused") return followed
  return failed(compiled, initial, startEvent, "always", new Error("an automatic transition stopped the machine before it began"))
}

const beginning = (frame: Frame, state: Tagged, through: ReadonlyArray<Tagged>): Beginning<Tagged, Tagged> => {
  frame.closed = true
  const { requests, sends, hooks, timers, delays } = frame
  return { _tag: "Beginning", state, requests, sends, through, hooks, timers, delays }
}

const startEvent: Tagged = { _tag: "@start" }

const defer = (
  compiled: Compiled,
  frame: Frame,
  node: Node,
  transition: Transition,
  event: Tagged,
  effect: Effect.Effect<unknown, unknown, unknown>,
  hooks: Hooks,
): Decision<Tagged, Tagged> => ({
  _tag: "Deferred",
  from: frame.state,
  event,
  effect: Effect.matchCause(effect, {
    onFailure: (cause) => {
      const thrown = Cause.squash(cause)
      return failed(compiled, frame.state, event, frame.phaseOf(thrown, "decide"), thrown) as Settled
    },
    onSuccess: (outcome) => settle(compiled, frame, node, transition, event, outcome as Tagged, hooks, undefined),
  }),
})

const taken = (
  tag: "Goto" | "Stay" | "Stop",
  frame: Frame,
  event: Tagged,
  state: Tagged,
  through: ReadonlyArray<Tagged>,
  answer: unknown,
  reason: string | undefined,
): Taken<Tagged, Tagged> => {
  const decision = new TakenDecision(tag, frame.state, event, state, answer)
  decision.requests = frame.requests
  decision.sends = frame.sends
  decision.through = through
  decision.hooks = frame.hooks
  decision.timers = frame.timers
  decision.delays = frame.delays
  decision.kept = frame.kept
  decision.raisedByHooks = frame.raisedByHooks
  if (frame.asked !== undefined) {
    decision.guardAnswers = frame.asked.answers
    decision.inlineGuards = frame.asked.inline
  }
  decision.reason = reason
  frame.closed = true
  return decision as Taken<Tagged, Tagged>
}

/** Runs a function of the user. An exception becomes a refusal with its phase. */
const attempt = <A>(compiled: Compiled, frame: Frame, event: Tagged, phase: Phase, run: () => A): A | Refused<Tagged, Tagged> => {
  try {
    return run()
  } catch (cause) {
    return failed(compiled, frame.state, event, frame.phaseOf(cause, phase), cause)
  }
}

const unhandled = (compiled: Compiled, node: Node, state: Tagged, event: Tagged): Refused<Tagged, Tagged> | Postponed<Tagged, Tagged> => {
  if (node.postponed.has(event._tag)) return { _tag: "Postponed", from: state, event }
  if (!node.final) return invalid(compiled, state, event)
  return {
    _tag: "Refused",
    from: state,
    event,
    error: new MachineStopped({ machine: compiled.name, state: state._tag, reason: `${state._tag} is a final state` }),
  }
}

const invalid = (compiled: Compiled, state: Tagged, event: Tagged): Refused<Tagged, Tagged> => {
  const node = compiled.nodes.get(state?._tag)
  const accepted = node === undefined ? [] : [...node.on.keys(), ...node.postponed].filter((tag) => !isOwnEvent(tag))
  const error = new InvalidTransition({ machine: compiled.name, state: String(state?._tag), event: eventLabel(event), accepted })
  return { _tag: "Refused", from: state, event, error }
}

const refused = (compiled: Compiled, state: Tagged, event: Tagged, reason: string): Refused<Tagged, Tagged> => ({
  _tag: "Refused",
  from: state,
  event,
  error: new TransitionRefused({ machine: compiled.name, state: state._tag, event: eventLabel(event), reason }),
})

const failed = (compiled: Compiled, state: Tagged, event: Tagged, phase: Phase, cause: unknown): Refused<Tagged, Tagged> => ({
  _tag: "Refused",
  from: state,
  event,
  error: new ActionFailed({ machine: compiled.name, phase, state: state._tag, event: eventLabel(event), committed: false, cause }),
})

const endless = (compiled: Compiled, frame: Frame, event: Tagged, through: ReadonlyArray<Tagged>): Refused<Tagged, Tagged> => ({
  _tag: "Refused",
  from: frame.state,
  event,
  error: new EndlessTransition({
    machine: compiled.name,
    state: frame.state._tag,
    event: eventLabel(event),
    path: through.slice(-6).map((state) => state._tag),
  }),
})
