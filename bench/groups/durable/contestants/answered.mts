/** Observes when the database has answered statements of a peer that uses the driver `pg`. */
import { createRequire } from "node:module"

type Query = (this: unknown, ...args: Array<unknown>) => unknown

/** Calls back with the values of every answered statement of a package that contains the text. */
export const onAnswered = (peer: string, text: string, tell: (values: ReadonlyArray<unknown>) => void) => {
  const { Client, Pool } = createRequire(import.meta.resolve(peer))("pg") as Driver
  for (const { prototype } of [Client, Pool]) {
    const { query } = prototype
    prototype.query = function (...args) {
      const answer = query.apply(this, [...args])
      const { statement, values } = statementOf(args)
      // The caller of the statement handles failures.
      if (statement.includes(text) && answer instanceof Promise) answer.then(() => tell(values)).catch(() => undefined)
      return answer
    }
  }
}

interface Driver {
  readonly Client: { readonly prototype: { query: Query } }
  readonly Pool: { readonly prototype: { query: Query } }
}

const statementOf = ([first, second]: ReadonlyArray<unknown>) => {
  if (typeof first === "string") return { statement: first, values: Array.isArray(second) ? second : [] }
  const { text = "", values = [] } = first as { readonly text?: string; readonly values?: ReadonlyArray<unknown> }
  return { statement: text, values }
}
