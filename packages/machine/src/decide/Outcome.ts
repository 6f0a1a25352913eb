/**
 * What a decision can return besides a state: stay, stop, refuse the event, or answer the sender.
 */

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

export const refuse = (reason: string): Refuse => ({ _tag: "@refuse", reason })

/** Answers the event. Without an outcome the state stays as it is. */
export const reply: {
  <A>(answer: A): Reply<A, Stay>
  <A, O>(answer: A, outcome: O): Reply<A, O>
} = <A, O>(answer: A, outcome?: O) => ({ _tag: "@reply", answer, outcome: outcome ?? stay }) as never
