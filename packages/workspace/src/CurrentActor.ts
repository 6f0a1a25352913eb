/**
 * Who acts: it is kept with what the operation changes. A server sets it for each request. Default: the user of the operating system,
 * who runs a command.
 */
import { userInfo } from "node:os"
import * as Context from "effect/Context"

const ownUser = (): string => {
  try {
    return `user ${userInfo().username}`
  } catch {
    // A container may run under an id that has no name.
    return `user ${process.getuid?.() ?? "unknown"}`
  }
}

export const CurrentActor: Context.Reference<string> = Context.Reference("@detent/workspace/CurrentActor", { defaultValue: ownUser })
