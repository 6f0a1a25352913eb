/**
 * The calls of `detent.send` and `detent.start` as typed statements for any client of PostgreSQL, to be run in a transaction of the caller:
 *
 * ```ts
 * await client.query("begin")
 * await client.query("update payments set state = 'paid' where id = $1", [payment])
 * await client.query(sendStatement(Order, "o-7", E.Pay({ amount: 42 }), { key: payment }))
 * await client.query("commit")
 * ```
 */
import { InvalidEvent, type Machine } from "@detent/machine"
import { compiledOf, eventProblem, initialState } from "@detent/machine/internal"
import { Codec } from "./machine/Codec.ts"

/** A statement as `pg` takes it. Other clients take its text and its values. */
export interface SqlStatement {
  readonly text: string
  readonly values: Array<string | null>
}

export interface SqlStatementOptions {
  /** The schema of the store. Default: `detent`. */
  readonly schema?: string
}

export interface SendStatementOptions extends SqlStatementOptions {
  /** The idempotency key: the instance accepts an event with this key once. */
  readonly key?: string
}

/** Sends an event when the transaction is committed. Throws `InvalidEvent` for an event that does not fit the machine. */
export const sendStatement = <S, E extends { readonly _tag: string }, I, R>(
  machine: Machine.Definition<S, E, I, R, unknown>,
  id: string,
  event: NoInfer<E>,
  { key, schema = "detent" }: SendStatementOptions = {},
): SqlStatement => {
  const compiled = compiledOf(machine)
  const invalid = eventProblem(compiled, event)
  if (invalid !== undefined) throw new InvalidEvent({ machine: machine.name, id, event: invalid.event, problem: invalid.problem })
  const [json] = new Codec(compiled, {}).encodeEvents([event])
  return { text: `select ${schema}.send($1, $2, $3, $4)`, values: [machine.name, id, JSON.stringify(json), key ?? null] }
}

export interface StartStatementOptions<Input> extends SqlStatementOptions {
  /** The input of the machine, or a whole state. Not needed where the machine begins in a state of its own. */
  readonly input?: Input
}

/** Starts an instance when the transaction is committed, unless there is one of this id. */
export const startStatement = <S, E, I, R>(
  machine: Machine.Definition<S, E, I, R, unknown>,
  id: string,
  { input, schema = "detent" }: StartStatementOptions<NoInfer<I | S>> = {},
): SqlStatement => {
  const compiled = compiledOf(machine)
  const state = new Codec(compiled, {}).encodeState(initialState(compiled, input))
  return { text: `select ${schema}.start($1, $2, $3)`, values: [machine.name, id, state] }
}
