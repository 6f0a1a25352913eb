/** The work of a contestant that is killed halfway: instances of ten steps each, of which none may be lost. */
import type { Abilities } from "../../measure/Player.ts"

export const things = 1000
export const stepsEach = 10
export const allSteps = things * stepsEach

/** Times are from the start of an engine, its connections included; node was started and modules were loaded before. */
export interface Surviving extends Abilities {
  /** Starts the engine and all work, and returns when half of the steps are stored. The work continues. */
  readonly begin: () => Promise<{ readonly millis: number }>
  /** Starts the engine, which resumes the unfinished work, and returns when all steps are done. */
  readonly resume: () => Promise<Resumed>
}

export interface Resumed {
  readonly millis: number
  readonly firstProgressMillis: number
  /** Steps that were acknowledged before the kill and are not stored. */
  readonly lost: number
}

export interface SurvivingOptions {
  readonly database: string
  /** The file to which steps are appended as soon as they are acknowledged. */
  readonly notes: string
  /** Of a database that is used several times. Default: 0. */
  readonly round?: number
}
