/** Goals for figures, and whether they are met. */
import type { Figures } from "./Group.ts"

export interface Goal {
  readonly key: string
  readonly about: string
  readonly atLeast?: number
  readonly atMost?: number
}

const isMet = ({ atLeast = -Infinity, atMost = Infinity }: Goal, value: number) => value >= atLeast && value <= atMost

/** Prints every goal whose figure was measured. */
export const printGoals = (goals: ReadonlyArray<Goal>, figures: Figures) => {
  const measured = goals.filter(({ key }) => key in figures)
  if (measured.length === 0) return
  console.log("\nGoals")
  for (const goal of measured) {
    const value = figures[goal.key] as number
    const bound = goal.atLeast === undefined ? `<= ${short(goal.atMost ?? 0)}` : `>= ${short(goal.atLeast)}`
    console.log(`  ${isMet(goal, value) ? "✓" : "✗"} ${goal.key.padEnd(30)}${short(value).padStart(8)}   ${bound.padEnd(10)}${goal.about}`)
  }
}

const short = (value: number) => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(3))
