/** What the code of a command is: a function of its input, as the table declares it. */
import type * as Effect from "effect/Effect"
import type { CommandName, Input } from "./line/Input.ts"
import type { Output } from "./output/Output.ts"

/** It succeeds with an exit code; nothing means that all went well. */
export type Handler<Name extends CommandName> = (input: Input<Name>) => Effect.Effect<number | void, unknown, Output>

export type Handlers = { readonly [Name in CommandName]: () => Promise<Handler<Name>> }
