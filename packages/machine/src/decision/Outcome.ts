/**
 * The results of a decision besides a state: stay, stop, the state in which a group was left, refuse the event, or answer the
 * sender.
 */
import type { Group, Initial } from "../schema/Variant.ts"

/** Keeps the state as it is. As a target: `.on(S.Open, E.Ping, stay)`. */
export interface Stay {
  readonly _tag: "@stay"
  readonly tag: "(stay)"
  readonly Type: Stay
}

/** Ends the machine. As a target: `.on(S.Failed, E.Shutdown, stop("shut down"))`. */
export interface Stop {
  readonly _tag: "@stop"
  readonly tag: "(stop)"
  readonly Type: Stop
  readonly reason: string
}

/** The state in which a group was left last. As a decision's outcome, it must be listed among the targets. */
export interface History {
  readonly _tag: "@history"
  readonly group: string
  readonly deep: boolean
}

/** `history` as a target. */
export interface HistoryTarget<out Tag extends string, out I> extends History {
  readonly tag: Tag
  readonly Type: History
  readonly "~initial": I
}

/** Refuses the event: the sender gets `TransitionRefused` with the reason, and nothing changes. */
export interface Refuse {
  readonly _tag: "@refuse"
  readonly reason: string
}

/** Answers the sender, and goes to `outcome`. */
export interface Reply<out A, out O> {
  readonly _tag: "@reply"
  readonly answer: A
  readonly outcome: O
}

/** `Type` is for the type checker alone: targets and states are read the same way there. */
export const stay: Stay = Object.freeze({ _tag: "@stay", tag: "(stay)" }) as Stay

export const stop = (reason: string): Stop => ({ _tag: "@stop", tag: "(stop)", reason }) as Stop

/**
 * Leads back to where a group was left last, with the fields of the event, of the state, or else those it was left with. A group
 * that has never been left is entered at its initial member. `shallow` remembers the direct member of the group, which is entered
 * anew where it is a group itself; `deep` the state. Default: `shallow`.
 */
export const history = <T, Tag extends string, I extends Initial>(
  group: Group<T, Tag, I>,
  depth: "shallow" | "deep" = "shallow",
): HistoryTarget<Tag, I> =>
  ({ _tag: "@history", tag: "(history)", group: group.group, deep: depth === "deep", "~initial": group["~initial"] }) as never

export const refuse = (reason: string): Refuse => ({ _tag: "@refuse", reason })

/** Answers the event. Without an outcome the state stays as it is. */
export const reply: {
  <A>(answer: A): Reply<A, Stay>
  <A, O>(answer: A, outcome: O): Reply<A, O>
} = <A, O>(answer: A, outcome?: O) => ({ _tag: "@reply", answer, outcome: outcome ?? stay }) as never
