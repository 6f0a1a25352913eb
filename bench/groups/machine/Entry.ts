/** The functions that each contestant of this group implements for a workload. */

/** Plays a round with pure decisions, or the closest equivalent of its library. */
export interface DecidingEntry<Data> {
  readonly name: string
  /** One round: creation and all events. Returns the end in the library's own representation. */
  play(): unknown
  /** The end in the common representation. Not measured. */
  read(end: unknown): Data
}

/** Plays a round with a live actor. */
export interface SendingEntry<Data> {
  readonly name: string
  create(): unknown
  /** Sends all events and returns the end. */
  send(actor: unknown): unknown
  read(end: unknown): Data
}

/**
 * Loads a contestant's file by its path. Those that import a peer end in .mts and are loaded only this way, because the
 * workspace type-checks .ts files on clones that have no peers; bench/tsconfig.json checks all of them.
 */
export const load = async <Module>(path: string): Promise<Module> => import(new URL(path, import.meta.url).href)
