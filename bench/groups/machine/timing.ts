/** How long the contests of this group take. */
import type { Timing } from "../../measure/Contest.ts"
import type { Settings } from "../../measure/Group.ts"

const lengthOf = ({ quick }: Settings) =>
  quick ? { processes: 1, warmUpMillis: 250, turns: 7, turnMillis: 25 } : { processes: 5, warmUpMillis: 1000, turns: 9, turnMillis: 100 }

/** Rounds of decisions are short, so many of them share one reading of the clock. */
export const decidingTiming = (settings: Settings): Timing => ({ ...lengthOf(settings), chunk: 500 })

/** Fewer rounds at a time, so that the cost of keeping thousands of actors does not show. */
export const sendingTiming = (settings: Settings): Timing => ({ ...lengthOf(settings), chunk: 100 })
