/**
 * Instances by the values of their indexed fields and their labels. The values of an instance are one JSON text in its row, written by the
 * commit that changes them. The listing derives one row per value from it, with an index per kind.
 */
import type { InstanceStatus, Json } from "./Commit.ts"
import { lengthProblem, nameProblem } from "./CommitCheck.ts"

/** An instant is its milliseconds since 1970, a boolean is 0 or 1: they are kept as numbers. */
export type FieldValue = string | number

/** An indexed field of the machine, or a label. */
export interface FieldName {
  readonly name: string
  readonly isLabel: boolean
}

/** Limits of the values of one field. All are texts, or all are numbers. */
export interface FieldCondition extends FieldName {
  readonly equals?: FieldValue
  readonly above?: FieldValue
  readonly atLeast?: FieldValue
  readonly below?: FieldValue
  readonly atMost?: FieldValue
}

/** By the values of one field, then by id. Instances without a value are left out. */
export interface FieldOrdering extends FieldName {
  readonly kind: "text" | "number"
  readonly direction: "ascending" | "descending"
}

export interface SearchFilter {
  readonly machine: string
  /** All must hold. */
  readonly where: ReadonlyArray<FieldCondition>
  /** Default: by id. */
  readonly order?: FieldOrdering
  readonly tag?: ReadonlyArray<string>
  readonly status?: InstanceStatus
  readonly idPrefix?: string
  readonly updatedAfter?: number
  readonly updatedBefore?: number
}

/** The last instance that a page examined. */
export interface SearchPosition {
  readonly id: string
  /** Its value of the field that the search is ordered by. */
  readonly value?: FieldValue
}

/**
 * How many entries of an index one page examines at most. A page that ends there has fewer instances than asked for and continues at
 * `next`: each page takes a bounded time, whatever the conditions are.
 */
export const mostExamined = 1_000

/** A condition that fits at most this many instances is looked up first, and its instances are sorted. */
export const mostSorted = 1_000

/** The values of an instance by name, as they are stored. */
export type StoredFields = Readonly<Record<string, string | number | boolean>>

export const fieldsIn = (json: Json | undefined): StoredFields => (json === undefined ? {} : (JSON.parse(json) as StoredFields))

/** The longest text that is indexed, in bytes: with an id it fits into an entry of PostgreSQL's indexes. */
export const textBytes = 500

/** Why a text cannot be indexed; undefined where it can. `what`: as in "index customer". */
export const textProblem = (what: string, text: string): string | undefined =>
  nameProblem(what, text) ?? lengthProblem(what, text, textBytes)

/** What is known of the background fill of a machine's indexes. */
export interface IndexFill {
  /** Which indexes are filled: another text means that they have changed. */
  readonly definition: string
  /** The id through which stored instances have their values. Undefined: none has. */
  readonly through: string | undefined
  /** How many instances were read. */
  readonly filled: number
  readonly isComplete: boolean
}

/** The values of an instance as a state at `sequence` has them. */
export interface FieldsWrite {
  readonly id: string
  readonly startedAt: number
  readonly sequence: number
  readonly revision: number
  readonly fields: Json
}

/** Labels to set, and to remove where the value is null. */
export type LabelChanges = Readonly<Record<string, string | null>>

/** The labels after a change as JSON; or why nothing was changed. */
export type LabelOutcome =
  | { readonly _tag: "Labelled"; readonly labels: Json }
  | { readonly _tag: "NoInstance" }
  | { readonly _tag: "TooMany"; readonly count: number }

/** The most labels of one instance. */
export const mostLabels = 20

/** Why labels cannot be stored, and the next step; undefined where they can. */
export const labelsProblem = (changes: LabelChanges): { readonly problem: string; readonly nextStep: string } | undefined => {
  for (const [name, value] of Object.entries(changes)) {
    if (!/^[a-zA-Z][a-zA-Z0-9_.-]{0,99}$/.test(name))
      return {
        problem: `${JSON.stringify(name.slice(0, 40).toWellFormed())} cannot name a label`,
        nextStep: "use a letter, then at most 99 letters, digits, dots, hyphens and underscores",
      }
    const problem = value === null ? undefined : textProblem(`label ${name}`, value)
    if (problem !== undefined) return { problem, nextStep: "keep the text elsewhere, and a short reference in the label" }
  }
  return undefined
}

export const labelsAfter = (json: Json | undefined, changes: LabelChanges): Exclude<LabelOutcome, { readonly _tag: "NoInstance" }> => {
  const labels = Object.fromEntries(
    Object.entries({ ...fieldsIn(json), ...changes })
      .filter(([, value]) => value !== null)
      .sort(([left], [right]) => (left < right ? -1 : 1)),
  )
  const count = Object.keys(labels).length
  return count > mostLabels ? { _tag: "TooMany", count } : { _tag: "Labelled", labels: JSON.stringify(labels) }
}

/** The least text that is greater than all texts that begin with the prefix; undefined where there is none. */
export const afterPrefix = (prefix: string): string | undefined => {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0)
  while (points.at(-1) === lastPoint) points.pop()
  const last = points.pop()
  if (last === undefined) return undefined
  // No text has a surrogate as a character.
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1)
}

const lastPoint = 0x10ffff
