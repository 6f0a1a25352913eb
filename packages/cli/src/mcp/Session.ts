/** The session of one agent: checks its role, and turns errors into refusals for it. */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { failureOf } from "../Failure.ts"
import type { RunningServer } from "../workspace/Server.ts"
import { ToolRefused } from "./Tools.ts"

export interface Session {
  readonly role: "read" | "operate"
  /** The server of the workspace, to which changes are sent. */
  readonly server: RunningServer | undefined
}

/** Runs the work of a tool in the workspace. `operating` refuses it in a session of the role `read`. */
export const sessionOf = <S>({ role }: Session, workspace: Context.Context<S>) => {
  const answering = <A, E>(work: Effect.Effect<A, E, S>): Effect.Effect<A, ToolRefused> =>
    // An agent reads messages, so it gets the problem and the next step as text.
    Effect.catchCause(Effect.provideContext(work, workspace), (cause) =>
      Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.fail(new ToolRefused({ reason: failureOf(cause).message })),
    )
  const operating: typeof answering = (work) => (role === "operate" ? answering(work) : Effect.fail(readOnly))
  return { answering, operating }
}

const readOnly = new ToolRefused({
  reason: "the role read does not allow changes; start the server with `detent mcp --role operate` to allow them",
})

/** Converts a view to JSON, which omits undefined fields. */
export const json = (value: object): Schema.Json => JSON.parse(JSON.stringify(value)) as Schema.Json
