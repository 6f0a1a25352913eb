/** Why an instance has left memory although its journal continues. */
export type LeaveReason =
  /** It was not used. The next caller opens it again. */
  | { readonly _tag: "Idle" }
  /** The engine, or the part of it that follows the instance, was closed. */
  | { readonly _tag: "Closed"; readonly problem: string }
  /** Its journal no longer replays. */
  | { readonly _tag: "Unreadable"; readonly problem: string }
  /** It moved to another node. Callers that wait for it here follow it there. */
  | { readonly _tag: "Moved" }
  /** The store was away for too long, and may have stored more than memory has. Callers that wait for it follow it when the store is back. */
  | { readonly _tag: "StateUnknown" }
  /** Another process has removed it. */
  | { readonly _tag: "Removed" }

/** Whether the instance continues in this or another process, so that its callers can follow it. */
export const continues = (reason: LeaveReason): boolean => reason._tag === "Moved" || reason._tag === "StateUnknown"

/** The text of a reason, for errors. */
export const leaveText = (reason: LeaveReason): string => {
  switch (reason._tag) {
    case "Idle":
      return "it was idle"
    case "Closed":
    case "Unreadable":
      return reason.problem
    case "Moved":
      return "it went to another node"
    case "StateUnknown":
      return "it left memory, because its stored state is unknown"
    case "Removed":
      return "another process has removed it"
  }
}
