/** The forms in which a graph can be exported, and the content type of each. */
import * as Schema from "effect/Schema"

export const ExportFormat = Schema.Literals(["turtle", "ntriples", "jsonld", "entities", "relations"])
export type ExportFormat = typeof ExportFormat.Type

export const contentTypes: Readonly<Record<ExportFormat, string>> = {
  turtle: "text/turtle; charset=utf-8",
  ntriples: "application/n-triples; charset=utf-8",
  jsonld: "application/ld+json; charset=utf-8",
  entities: "text/csv; charset=utf-8",
  relations: "text/csv; charset=utf-8",
}
