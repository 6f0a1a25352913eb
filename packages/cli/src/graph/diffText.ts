/** What a batch changed, for people: each document with the facts it gained and lost. */
import type { BatchChanges, DiffFact } from "@detent/knowledge"
import type { Style } from "../output/Style.ts"

export const diffText = ({ namespace, added, removed, documents }: BatchChanges, style: Style): string => {
  const head = `${namespace}: ${added} facts added, ${removed} removed, in ${documents.length} documents\n`
  const bodies = documents.map((document) =>
    [
      style.bold(document.source ?? document.documentId),
      ...document.added.map((fact) => style.green(`  + ${factText(fact)}`)),
      ...document.removed.map((fact) => style.red(`  - ${factText(fact)}`)),
      "",
    ].join("\n"),
  )
  const listed = documents.reduce((sum, one) => sum + one.added.length + one.removed.length, 0)
  const rest = added + removed - listed
  return [head, ...bodies, rest === 0 ? "" : `and ${rest} more; raise --limit to see them\n`].join("")
}

const factText = ({ subject, subjectLabel, property, object, objectLabel, quote }: DiffFact): string =>
  `${subjectLabel ?? subject} | ${localName(property)} | ${objectLabel ?? object}   "${quote.replace(/\s+/g, " ")}"`

const localName = (iri: string): string => iri.slice(Math.max(iri.lastIndexOf("/"), iri.lastIndexOf("#")) + 1)
