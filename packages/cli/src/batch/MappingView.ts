/** A preview of a mapping in the output of `detent batch map`. */
import type { MappingPreview } from "@detent/knowledge"
import { counted } from "../output/Count.ts"
import { oneLine, type Style } from "../output/Style.ts"
import { notReadText } from "./BatchView.ts"

type MappedTable = MappingPreview["tables"][number]

export const mappingText = ({ tables, problems, notes, source }: MappingPreview, style: Style): string => {
  const shown = tables.map((table) => tableText(table, style))
  const wrong = problems.map((problem) => style.red(`${problem}\n`))
  // The notes of a proposal are in the file that is written.
  const open = source === "proposed" ? notes.map((note) => `${style.yellow("note")} ${note}\n`) : []
  return [...shown, ...open, ...wrong].join("\n")
}

const tableText = ({ file, table, documents, records, entities, facts, samples, misfits, notRead }: MappedTable, style: Style): string => {
  const name = table === undefined ? file : `${file}, ${table}`
  const lines = [
    `${style.bold(name)}  ${counted(documents, "document")}; ${counted(entities, "entity", "entities")} and ${counted(facts, "fact")} in ${counted(records, "record")}`,
    ...samples.map(
      ({ subject, property, object, quote }) =>
        `  ${oneLine(subject)} ${style.dim(property)} ${oneLine(object)}  ${style.dim(`"${oneLine(quote)}"`)}`,
    ),
    ...(misfits.count === 0
      ? []
      : [
          `  ${counted(misfits.count, "value")} that cannot be read: ${misfits.examples.map((text) => `"${oneLine(text).slice(0, 60)}"`).join(", ")}`,
        ]),
    ...(notRead === undefined ? [] : [`  ${notReadText(notRead)}`]),
  ]
  return `${lines.join("\n")}\n`
}
