/** The work of a contestant that is killed halfway: a number of things of ten steps each, none of which it may forget. */
import type { Abilities } from "../../measure/Player.ts"

export const things = 1000
export const stepsEach = 10
export const allSteps = things * stepsEach

/** Times are from the start of an engine, its connections included; node was started and modules were loaded before. */
export interface Surviving extends Abilities {
  /** Starts its engine and everything on it, and returns when half of the steps are stored. Work continues meanwhile. */
  readonly begin: () => Promise<{ readonly millis: number }>
  /** Starts its engine, which finds the unfinished rest, and returns when all is done. */
  readonly resume: () => Promise<Resumed>
}

export interface Resumed {
  readonly millis: number
  readonly firstProgressMillis: number
  /** Steps that were acknowledged to the process before, and are not stored. */
  readonly lost: number
}

export interface SurvivingOptions {
  readonly database: string
  /** Where steps are noted as soon as they are said to be stored. */
  readonly notes: string
}
