/** Everything that happens in an actor system, for tests, logs and live views. */
import type { Taken } from "../decision/Decision.ts"
import type { ActionFailed, SendError } from "../error/MachineError.ts"

interface About {
  readonly machine: string
  readonly id: string
  readonly at: number
}

interface Tagged {
  readonly _tag: string
}

/** How an actor ended. */
export type Ending =
  | { readonly _tag: "Final"; readonly state: Tagged }
  | { readonly _tag: "Stopped"; readonly state: Tagged; readonly reason: string }
  | { readonly _tag: "Failed"; readonly state: Tagged; readonly error: ActionFailed }

export type Inspection =
  | (About & { readonly _tag: "Started"; readonly state: Tagged; readonly through: ReadonlyArray<Tagged> })
  | (About & { readonly _tag: "Decided"; readonly decision: Taken<Tagged, Tagged> })
  | (About & { readonly _tag: "Refused"; readonly event: string; readonly error: SendError })
  | (About & { readonly _tag: "Postponed"; readonly event: string })
  | (About & { readonly _tag: "CommandStarted"; readonly slot: string })
  | (About & { readonly _tag: "CommandEnded"; readonly slot: string; readonly error: ActionFailed | undefined })
  | (About & { readonly _tag: "ActionFailed"; readonly error: ActionFailed })
  | (About & { readonly _tag: "Restarting"; readonly error: ActionFailed; readonly delay: number })
  | (About & { readonly _tag: "Ended"; readonly ending: Ending })
