/** The structure of a group of measurements. */
import type { Goal } from "./Goal.ts"
import type { Table } from "./Table.ts"

/** Ratios and numbers by key, such as `decide.vsXstate`. */
export type Figures = Readonly<Record<string, number>>

export interface Settings {
  readonly quick: boolean
}

export interface Findings {
  readonly tables: ReadonlyArray<Table>
  readonly figures: Figures
}

export type Part = (settings: Settings) => Promise<Findings>

export interface Group {
  /** In the order of measurement; the names are those in groups.mjs. */
  readonly parts: Readonly<Record<string, Part>>
  readonly goals: ReadonlyArray<Goal>
}
