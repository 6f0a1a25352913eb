/** The columns of a kind in its SQL view, from the schema of its items. */
import type * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"

/** The type of a column. A `json` column has lists, records and fields of several types. */
export type ColumnType = "text" | "integer" | "number" | "boolean" | "time" | "json"

export interface ItemColumn {
  /** The name in the view; of a field of a field, such as `address.city`. */
  readonly name: string
  /** The keys from the item to the field. */
  readonly path: ReadonlyArray<string>
  readonly type: ColumnType
}

const mostColumns = 500
const deepest = 4

/** PostgreSQL cuts longer names. */
const longestName = 63

/** Keys that both databases look up as they are. */
const isPlainKey = (key: string): boolean => /^[\p{L}_][^"'\\\p{Cc}]*$/u.test(key)

/** Fields without a column are in the JSON of the item, which every view has. */
export const columnsOf = (schema: Schema.Top): ReadonlyArray<ItemColumn> => {
  const columns: Array<ItemColumn> = []
  const names = new Set<string>()
  const add = (ast: SchemaAST.AST, before: ReadonlyArray<string>) => {
    if (!SchemaAST.isObjects(ast)) return
    for (const { name: key, type } of ast.propertySignatures) {
      if (typeof key !== "string" || !isPlainKey(key)) continue
      const path = [...before, key]
      const inner = onlyMember(type)
      if (inner !== undefined && isStruct(inner) && path.length < deepest) {
        add(inner, path)
        continue
      }
      const name = path.join(".")
      const known = name.toLowerCase()
      if (names.has(known) || Buffer.byteLength(name) > longestName || columns.length >= mostColumns) continue
      names.add(known)
      columns.push({ name, path, type: typeOf(type) })
    }
  }
  add(SchemaAST.toType(schema.ast), [])
  return columns
}

const isStruct = (ast: SchemaAST.AST): boolean =>
  SchemaAST.isObjects(ast) && ast.propertySignatures.length > 0 && ast.indexSignatures.length === 0

/** The members of a union that are values: a missing field and `null` are the same in a view. */
const membersOf = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> => {
  if (SchemaAST.isUnion(ast)) return ast.types.flatMap(membersOf)
  return SchemaAST.isNull(ast) || SchemaAST.isUndefined(ast) ? [] : [ast]
}

const onlyMember = (ast: SchemaAST.AST): SchemaAST.AST | undefined => {
  const members = membersOf(ast)
  return members.length === 1 ? members[0] : undefined
}

const typeOf = (ast: SchemaAST.AST): ColumnType => {
  const [first, ...others] = new Set(membersOf(ast).map(typeOfMember))
  return first !== undefined && others.length === 0 ? first : "json"
}

const typeOfMember = (ast: SchemaAST.AST): ColumnType => {
  if (SchemaAST.isString(ast) || SchemaAST.isTemplateLiteral(ast) || SchemaAST.isBigInt(ast)) return "text"
  if (SchemaAST.isBoolean(ast)) return "boolean"
  if (SchemaAST.isNumber(ast))
    return (ast.checks ?? []).some((check) => idOf(check.annotations) === "effect/schema/isInt") ? "integer" : "number"
  if (SchemaAST.isLiteral(ast)) return typeof ast.literal === "string" ? "text" : typeof ast.literal === "boolean" ? "boolean" : "number"
  if (SchemaAST.isDeclaration(ast) && times.has(idOf(ast.annotations) ?? "")) return "time"
  return "json"
}

const times: ReadonlySet<string> = new Set(["effect/schema/Date", "effect/schema/DateTimeUtc"])

const idOf = (annotations: { readonly [name: string]: unknown } | undefined): string | undefined => {
  const representation = annotations?.["representation"]
  if (typeof representation !== "object" || representation === null || !("id" in representation)) return undefined
  return typeof representation.id === "string" ? representation.id : undefined
}
