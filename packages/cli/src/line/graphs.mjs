/** The knowledge graph that batches add to. */

const namespace = /** @type {const} */ ({
  name: "namespace",
  kind: "text",
  value: "NAME",
  summary: "which graph; not needed where there is only one",
})

export const graphCommands = /** @satisfies {ReadonlyArray<import("./Command.ts").Command>} */ (
  /** @type {const} */ ([
    {
      name: "graph query",
      summary: "ask the graph in SPARQL",
      arguments: [{ name: "sparql", summary: "the query, or - to read it from stdin" }],
      options: [namespace, { name: "timeout", kind: "integer", value: "SECONDS", default: 30, summary: "give up after so long" }],
      examples: [
        {
          line: 'detent graph query "SELECT ?name { ?x <http://www.w3.org/2000/01/rdf-schema#label> ?name } LIMIT 5"',
          says: "a table; --json gives SPARQL JSON",
        },
        { line: "detent graph query - < question.rq", says: "a query from a file" },
      ],
    },
    {
      name: "graph export",
      summary: "write the graph for other programs",
      arguments: [],
      options: [
        namespace,
        {
          name: "format",
          kind: "text",
          value: "FORMAT",
          choices: ["turtle", "ntriples", "jsonld", "entities", "relations"],
          default: "turtle",
          summary: "entities and relations are tables (CSV)",
        },
        { name: "output", kind: "text", value: "FILE", summary: "write it there instead of to stdout", complete: "file" },
      ],
      examples: [{ line: "detent graph export --format relations --output relations.csv", says: "for a spreadsheet" }],
    },
    {
      name: "graph diff",
      summary: "what a batch changed: facts added and removed, by document",
      arguments: [{ name: "batch", summary: "the batch's id, as `detent batch list` shows it" }],
      options: [{ name: "limit", kind: "integer", value: "N", default: 1000, minimum: 1, summary: "facts listed of each kind" }],
      examples: [{ line: "detent graph diff batch-3f9c2a71b0d4 --json", says: "one JSON value, with the words each fact rests on" }],
    },
    {
      name: "graph stats",
      summary: "how large the graph is, and which batches made it",
      arguments: [],
      options: [namespace],
      examples: [{ line: "detent graph stats --json", says: "one line for each graph" }],
    },
  ])
)
