/** Reads tables row by row: CSV, TSV, XLSX, JSON and JSON lines, plain or packed. */
export { FileBytes } from "./bytes/FileBytes.ts"
export { type Inspection, inspectTable, sheetsOf } from "./inspect/inspectTable.ts"
export { deepestNesting, type Layout } from "./json/JsonSplitter.ts"
export { isoDateProblem } from "./mapping/coerce.ts"
export { isLocale } from "./mapping/Locale.ts"
export {
  checkMapping,
  FieldRule,
  Mapping,
  type MappingPlace,
  MappingRefused,
  MappingSource,
  TargetField,
  ValueType,
} from "./mapping/Mapping.ts"
export { type FieldProblem, fieldProblemText, type MappedRow, type MapRow, makeMapRow } from "./mapping/mapRow.ts"
export { nestedValues, valueAt } from "./mapping/nested.ts"
export { type Proposal, type ProposeOptions, proposeMapping } from "./mapping/proposeMapping.ts"
export { behind, bytesOfRows, columnName, type Position, type Row, RowProblem } from "./Row.ts"
export { openRows, type Rows, type RowsOptions } from "./Rows.ts"
export { type OpenTableOptions, openTable, rowValues, type Table } from "./Table.ts"
export { type FileStamp, localFile, memoryFile, type OpenedFile, openLocalFile, openMemory, stampOf, type TableFile } from "./TableFile.ts"
export { Compression, Encoding, Format, formatText, TableFormat, TableOptions } from "./TableFormat.ts"
export { defaultTableLimits, type TableLimits } from "./TableLimits.ts"
export {
  FileInvalid,
  FileTooLarge,
  FileUnreadable,
  isTableProblem,
  Place,
  placeText,
  type TableProblem,
  UnsupportedContentType,
} from "./TableProblem.ts"
