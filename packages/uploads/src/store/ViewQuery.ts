/** The query of the view of a kind. */
import type { ColumnType, ItemColumn } from "../kind/ItemColumns.ts"

/** `column` is the SQL of a field. Fields that are named like the columns of every view have none. */
export const viewQuery = (
  columns: ReadonlyArray<ItemColumn>,
  own: { readonly columns: string; readonly from: string },
  column: (path: ReadonlyArray<string>, type: ColumnType) => string,
): string => {
  const fields = columns
    .filter(({ name }) => !name.toLowerCase().startsWith("detent_"))
    .map(({ name, path, type }) => `${column(path, type)} as "${name.replaceAll('"', '""')}"`)
  return `select ${[...fields, own.columns].join(", ")} ${own.from}`
}
