/** Reads items in a worker process, with the definition that a module exports. */
import { hash } from "node:crypto"
import type { TaskChannel } from "@detent/processes"
import type { FileMapping, ItemKind } from "../kind/ItemKind.ts"
import { kindOfMapping } from "../kind/MappedKind.ts"
import { type ReadContent, readContent, readStrictly } from "../kind/ReadContent.ts"
import { kindOfTable } from "../kind/TableKind.ts"

/** Identifies a definition that a module exports. */
export interface DefinitionName {
  readonly module: string
  readonly name: string
  /** Distinguishes definitions with the same name and different checks. */
  readonly fingerprint: string
  /** Whether the items are rows of a table. */
  readonly isTable: boolean
  /** The mapping of the file. */
  readonly fileMapping: FileMapping | undefined
}

export interface ReadItemsInput {
  readonly definition: DefinitionName
  readonly texts: ReadonlyArray<string>
  /** Refuses keys that the definition does not know. */
  readonly strict: boolean
  /** Sends one answer per item, so that the item that exceeds a limit is known. */
  readonly singly: boolean
}

/** The definition is loaded, or an item is read. */
export type ReadItemsOutput = { readonly _tag: "Loaded" } | { readonly _tag: "Read"; readonly read: ReadContent }

/** Hashes the source text of the check, which distinguishes two definitions with one name. */
export const fingerprintOf = ({ check, integrity }: Pick<ItemKind, "check" | "integrity">): string =>
  hash("sha256", `${integrity} ${String(check)}`)

/** The time between two answers, in milliseconds. The time limit of an item applies to each answer. */
const answerMillis = 20

export const readItems = async (
  { definition, texts, strict, singly }: ReadItemsInput,
  channel: TaskChannel,
): Promise<ReadonlyArray<ReadItemsOutput>> => {
  const kind = await kindOf(definition)
  // The time to load a module must not count against an item, so the first answer has its own limit.
  await channel.emit([{ _tag: "Loaded" } satisfies ReadItemsOutput])
  const read = strict ? readStrictly : readContent
  let answers: Array<ReadItemsOutput> = []
  let since = performance.now()
  for (const text of texts) {
    answers.push({ _tag: "Read", read: read(text, kind) })
    if (!singly && performance.now() - since < answerMillis) continue
    await channel.emit(answers)
    answers = []
    since = performance.now()
  }
  return answers
}

const kindOf = async ({ module, name, fingerprint, isTable, fileMapping }: DefinitionName): Promise<ItemKind> => {
  const exported: object = await import(module)
  const named = [...new Set(Object.values(exported).flatMap(uploadsIn))].filter((kind) => kind.name === name)
  const found = named.length === 1 ? named[0] : named.find((kind) => fingerprintOf(kind) === fingerprint)
  if (found === undefined)
    throw new Error(
      named.length === 0 ? `it exports no upload ${name}` : `it exports ${named.length} uploads ${name}, none with this check`,
    )
  return kindOfMapping(isTable ? kindOfTable(found) : found, fileMapping)
}

/** The kind of an exported definition, or the kinds of an exported configuration. */
const uploadsIn = (value: unknown): ReadonlyArray<ItemKind> => {
  if (typeof value !== "object" || value === null) return []
  if ("uploads" in value && Array.isArray(value.uploads)) return value.uploads.flatMap(uploadsIn)
  return "kind" in value && isKind(value.kind) ? [value.kind] : []
}

const isKind = (value: unknown): value is ItemKind =>
  typeof value === "object" && value !== null && "read" in value && "contentOf" in value && "name" in value
