/**
 * A blueprint is the structure of a machine as plain data: what diagrams, analysis, the console and other tools read.
 * It is JSON all through, in declaration order, and says nothing of how decisions are made.
 */

export interface FieldBlueprint {
  readonly name: string
  readonly sensitive: boolean
}

export interface StateBlueprint {
  readonly tag: string
  readonly fields: ReadonlyArray<FieldBlueprint>
  /** The innermost group the state stands in. */
  readonly group: string | undefined
  readonly initial: boolean
  readonly final: boolean
  /** Effect slots its `enter` and `exit` mention: requested as commands when the state is entered or left. */
  readonly requestsOnEnter: ReadonlyArray<string>
  readonly requestsOnExit: ReadonlyArray<string>
  /** Effect slots its `spawn` and `task` mention: run while the state lasts. */
  readonly runs: ReadonlyArray<string>
  /** Whether any work runs while the state lasts. */
  readonly working: boolean
}

export interface EventBlueprint {
  readonly tag: string
  readonly fields: ReadonlyArray<FieldBlueprint>
  readonly group: string | undefined
  readonly reply: boolean
}

export interface GroupBlueprint {
  readonly name: string
  readonly parent: string | undefined
  /** Names of the states (or events) and groups directly inside. */
  readonly members: ReadonlyArray<string>
}

/** Where a transition can lead: a state by its tag, staying, or the end. */
export type TargetBlueprint =
  | { readonly _tag: "State"; readonly state: string }
  | { readonly _tag: "Stay" }
  | { readonly _tag: "Stop"; readonly reason: string | undefined }

interface TransitionCommon {
  /** The state's tag; `*` for a fallback, which holds in every state that says nothing of the event itself. */
  readonly from: string
  readonly targets: ReadonlyArray<TargetBlueprint>
  /** Guard slots its decision mentions, and the name given to its own guard. */
  readonly guards: ReadonlyArray<string>
  /** Effect slots its decision mentions. */
  readonly requests: ReadonlyArray<string>
  readonly description: string | undefined
  /** What a diagram writes at the edge instead of event, guards and requests; each part may get a line of its own. */
  readonly label?: ReadonlyArray<string>
}

export type TransitionBlueprint =
  /** On an event. `fallback`: declared with `onAny`. `reenter`: the state is left and entered again. */
  | (TransitionCommon & { readonly _tag: "Event"; readonly event: string; readonly fallback: boolean; readonly reenter: boolean })
  /** The event waits for the next state change. It has no targets. */
  | (TransitionCommon & { readonly _tag: "Postpone"; readonly event: string })
  /** Taken by itself when its guard holds. */
  | (TransitionCommon & { readonly _tag: "Always" })
  /** After a time. `after` is the duration in words, or undefined where it depends on the state. */
  | (TransitionCommon & { readonly _tag: "Timeout"; readonly name: string; readonly after: string | undefined; readonly idle: boolean })

export interface Blueprint {
  readonly name: string
  readonly version: number
  readonly states: ReadonlyArray<StateBlueprint>
  readonly stateGroups: ReadonlyArray<GroupBlueprint>
  readonly events: ReadonlyArray<EventBlueprint>
  readonly eventGroups: ReadonlyArray<GroupBlueprint>
  readonly transitions: ReadonlyArray<TransitionBlueprint>
  readonly guards: ReadonlyArray<string>
  readonly effects: ReadonlyArray<string>
}
