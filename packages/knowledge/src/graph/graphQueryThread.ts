/** The thread in which queries run: it holds one graph in memory and answers one message after the other. */
import { parentPort } from "node:worker_threads"
import { Store } from "oxigraph"

export type QueryRequest = { readonly _tag: "Load"; readonly text: string } | { readonly _tag: "Query"; readonly sparql: string }

export type QueryAnswer =
  | { readonly _tag: "Answered"; readonly contentType: string; readonly body: string }
  | { readonly _tag: "Refused"; readonly problem: string }

const selected = "application/sparql-results+json"
const constructed = "application/n-triples"

const store = new Store()

const answer = (request: QueryRequest): QueryAnswer => {
  if (request._tag === "Load") {
    store.load(request.text, { format: constructed, no_transaction: true })
    return { _tag: "Answered", contentType: constructed, body: "" }
  }
  const contentType = /\b(construct|describe)\b/i.test(withoutPrologue(request.sparql)) ? constructed : selected
  return { _tag: "Answered", contentType, body: String(store.query(request.sparql, { results_format: contentType })) }
}

/** The form of a query is its first word after prefixes, base and comments. */
const withoutPrologue = (sparql: string): string =>
  sparql.replace(/^(\s|#[^\n]*\n|prefix\s+[^\s:]*:\s*<[^>]*>|base\s*<[^>]*>)*/i, "").slice(0, 10)

parentPort?.on("message", (request: QueryRequest) => {
  try {
    parentPort?.postMessage(answer(request))
  } catch (error) {
    parentPort?.postMessage({ _tag: "Refused", problem: error instanceof Error ? error.message : String(error) } satisfies QueryAnswer)
  }
})
