/** What is resolved, and what comes of it. */
import type { Identifier } from "./Clusters.ts"

export interface NamedMention {
  /** The IRI of its class. */
  readonly type: string
  readonly name: string
  readonly identifiers?: ReadonlyArray<Identifier>
}

/** An entity that an earlier batch resolved: its IRI is kept, and two of them are never joined. */
export interface KnownEntity {
  readonly iri: string
  readonly type: string
  readonly names: ReadonlyArray<string>
  readonly identifiers?: ReadonlyArray<Identifier>
}

export type MergeReason = "identifier" | "same words" | "slip" | "initials" | "acronym"

/** Two names that became one entity. */
export interface Merge {
  readonly type: string
  readonly left: string
  readonly right: string
  readonly reason: MergeReason
}

/** What is known of a group of mentions that are one entity. */
export interface Cluster {
  readonly type: string
  /** The IRI an earlier batch gave it. */
  readonly known: string | undefined
  /** Its names, most frequent first. */
  readonly names: ReadonlyArray<string>
  /** The form of the first name and, where identifiers tell namesakes apart, those: what its IRI is made of. */
  readonly identity: string
}

export interface Resolution {
  readonly clusters: ReadonlyArray<Cluster>
  /** For each mention, in the order they were added, the position of its cluster. */
  readonly clusterOf: Int32Array
  readonly merges: ReadonlyArray<Merge>
}
