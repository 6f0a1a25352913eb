/** Answers queries inside a worker, which holds one version of a graph in memory. */
import { type TaskChannel, UnsoundWorker } from "@detent/processes"
import { formStart } from "./SparqlText.ts"

export interface LoadInput {
  readonly version: string
}

export interface QueryInput extends LoadInput {
  readonly sparql: string
  /** Maximum length of the answer, in characters. */
  readonly maxLength: number
}

export type QueryAnswer =
  | { readonly _tag: "Answered"; readonly contentType: string; readonly body: string }
  | { readonly _tag: "TooLarge"; readonly length: number }

/** Name of the task's source that streams the graph's lines. */
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

/** A WebAssembly call that throws midway leaves its memory in an inconsistent state, so the worker must not be used again. */
const sound = <A>(call: () => A): A => {
  try {
    return call()
  } catch (error) {
    if (error instanceof RangeError) throw new UnsoundWorker("it is nested too deep to be answered; write it in a flatter way")
    if (error instanceof WebAssembly.RuntimeError) throw new UnsoundWorker(`the query engine failed at it: ${error.message}`)
    throw error
  }
}
