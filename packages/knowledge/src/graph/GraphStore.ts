/** The side of the worker that answers queries: holds one version of a graph in memory. */
import { type TaskChannel, UnsoundWorker } from "@detent/durable/ProcessPool"
import { formStart } from "./SparqlText.ts"

export interface LoadInput {
  readonly version: string
}

export interface QueryInput extends LoadInput {
  readonly sparql: string
  /** How long the answer may be, in characters. */
  readonly maxLength: number
}

export type QueryAnswer =
  | { readonly _tag: "Answered"; readonly contentType: string; readonly body: string }
  | { readonly _tag: "TooLarge"; readonly length: number }

/** The source of a graph: its lines. */
export const graphLines = "lines"

const selected = "application/sparql-results+json"
const constructed = "application/n-triples"

type Store = InstanceType<typeof import("oxigraph")["Store"]>

export const makeGraphStore = () => {
  let held: { readonly version: string; readonly store: Store } | undefined

  const load = async (version: string, channel: TaskChannel): Promise<Store> => {
    if (held?.version === version) return held.store
    held = undefined
    const { Store } = await import("oxigraph")
    const store = new Store()
    for await (const lines of channel.source(graphLines))
      sound(() => store.load(`${lines.join("\n")}\n`, { format: constructed, no_transaction: true }))
    held = { version, store }
    return store
  }

  return {
    load: async ({ version }: LoadInput, channel: TaskChannel): Promise<void> => {
      await load(version, channel)
    },
    query: async ({ version, sparql, maxLength }: QueryInput, channel: TaskChannel): Promise<QueryAnswer> => {
      const store = await load(version, channel)
      const from = formStart(sparql)
      const contentType = /^(construct|describe)\b/i.test(sparql.slice(from, from + 10)) ? constructed : selected
      const body = sound(() => String(store.query(sparql, { results_format: contentType })))
      return body.length > maxLength ? { _tag: "TooLarge", length: body.length } : { _tag: "Answered", contentType, body }
    },
  }
}

/** WebAssembly that ends in the middle of a call leaves its memory as it was at that moment, and no later call can rely on it. */
const sound = <A>(call: () => A): A => {
  try {
    return call()
  } catch (error) {
    if (error instanceof RangeError) throw new UnsoundWorker("it is nested too deep to be answered; write it in a flatter way")
    if (error instanceof WebAssembly.RuntimeError) throw new UnsoundWorker(`the query engine failed at it: ${error.message}`)
    throw error
  }
}
