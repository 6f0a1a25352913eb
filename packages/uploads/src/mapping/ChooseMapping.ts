/** Chooses the mapping of a file: the one that its sender gives, the one that is kept for its kind, or that of the definition. */
import type { PersistenceFailed } from "@detent/machine"
import { checkMapping, type Mapping, MappingRefused, type MappingSource, type TableFormat, type TableProblem } from "@detent/tables"
import * as Effect from "effect/Effect"
import { tableFile } from "../file/FileInspection.ts"
import type { Kind, Uploading } from "../stages/Uploading.ts"
import { findMapping } from "../store/Mappings.ts"
import { firstRows } from "./FirstRows.ts"

export interface ChosenMapping {
  readonly mapping: Mapping
  readonly source: MappingSource
}

export interface MappedFile {
  readonly path: string
  readonly name: string
  readonly table: TableFormat
  /** The columns, where they are known already. */
  readonly columns?: ReadonlyArray<string> | undefined
}

/** How many rows of JSON tell the keys of its items. */
const keyRows = 100

/**
 * A kept mapping and that of a definition are used for files that have one of their columns; one that such a file cannot use is refused,
 * so that no item is read in another way than intended.
 */
export const chooseMapping = (
  { store, files, limits }: Uploading,
  kind: Kind,
  { path, name, table, columns }: MappedFile,
  given: Mapping | "none" | undefined,
): Effect.Effect<ChosenMapping | undefined, MappingRefused | PersistenceFailed | TableProblem> =>
  Effect.gen(function* () {
    if (given === "none") return undefined
    if (given !== undefined) {
      yield* accept(kind, given, table)
      return { mapping: given, source: "given" }
    }
    const kept = yield* findMapping(store, kind.name)
    const known: ChosenMapping | undefined =
      kept !== undefined
        ? { mapping: kept.mapping, source: "kept" }
        : kind.mapping === undefined
          ? undefined
          : { mapping: kind.mapping, source: "definition" }
    if (known === undefined) return undefined
    const file = tableFile(files, path, name)
    const named = columns ?? table.columns ?? (yield* firstRows({ file, table, limits, count: keyRows, isPart: false })).columns
    const has = new Set(named)
    const isPresent = (column: string) => has.has(column) || has.has(column.split(".")[0] ?? column)
    if (!known.mapping.fields.some(({ column }) => column !== undefined && isPresent(column))) return undefined
    const next = "map the file with `detent upload map`, or upload it without a mapping (`--mapping none`)"
    yield* accept(kind, known.mapping, table, next)
    return known
  })

/** Refuses a mapping that names fields or columns that do not exist. Items of JSON need not have all keys. */
const accept = (kind: Kind, mapping: Mapping, table: TableFormat, next?: string): Effect.Effect<void, MappingRefused> => {
  const problems = checkMapping(mapping, { fields: kind.targets, columns: table.columns })
  return problems.length === 0
    ? Effect.void
    : Effect.fail(new MappingRefused({ target: kind.name, problems, ...(next === undefined ? {} : { next }) }))
}
