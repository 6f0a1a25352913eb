/** The kind of items whose fields are read from columns by a mapping. Its values are those of the file, before the mapping. */
import { unknownKeyText } from "@detent/entity"
import { fieldProblemText, makeMapRow } from "@detent/tables"
import type { FileMapping, ItemKind } from "./ItemKind.ts"
import { bad } from "./ReadItem.ts"
import { shownId } from "./UploadDefinition.ts"

export const kindOfMapping = <K extends ItemKind>(kind: K, fileMapping: FileMapping | undefined): K => {
  if (fileMapping === undefined) return kind
  const { mapping, columns } = fileMapping
  const map = makeMapRow(mapping)
  const read: ItemKind["read"] = (value) => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return kind.read(value)
    const { values, problems } = map(value)
    if (problems.length === 0) return kind.read(values)
    const id = kind.idField === undefined ? undefined : (values as Readonly<Record<string, unknown>>)[kind.idField]
    return bad("invalid_field", problems.map(fieldProblemText).join("; "), shownId(id))
  }
  return {
    ...kind,
    fileMapping,
    read,
    // A correction has the columns of the file.
    unknownKeys: (value) => {
      if (columns === undefined) return undefined
      const unknown = Object.keys(value).find((key) => !columns.includes(key))
      return unknown === undefined ? undefined : unknownKeyText(unknown, columns)
    },
  }
}
