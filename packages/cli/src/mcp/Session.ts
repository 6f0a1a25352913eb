/** One agent: what it may do, and how an answer or a refusal reaches it. */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { failureOf } from "../Failure.ts"
import type { RunningServer } from "../workspace/Server.ts"
import { ToolRefused } from "./Tools.ts"

export interface Session {
  readonly role: "read" | "operate"
  /** The server that works in the workspace. Changes are sent to it. */
  readonly server: RunningServer | undefined
}

/** Runs the work of a tool in the workspace. `operating` refuses it where the role may only look. */
export const sessionOf = <S>({ role }: Session, workspace: Context.Context<S>) => {
  const answering = <A, E>(work: Effect.Effect<A, E, S>): Effect.Effect<A, ToolRefused> =>
    // An agent reads messages, so it gets the problem and the next step as text.
    Effect.catchCause(Effect.provideContext(work, workspace), (cause) =>
      Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.fail(new ToolRefused({ reason: failureOf(cause).message })),
    )
  const operating: typeof answering = (work) => (role === "operate" ? answering(work) : Effect.fail(mayOnlyLook))
  return { answering, operating }
}

const mayOnlyLook = new ToolRefused({
  reason: "the role read does not allow changes; start it with `detent mcp --role operate` to allow them",
})

/** Views are made of plain values; where one is undefined, JSON leaves it out. */
export const json = (value: object): Schema.Json => JSON.parse(JSON.stringify(value)) as Schema.Json
