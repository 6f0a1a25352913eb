/**
 * Turns chances into confidences that mean what they say: of the facts given with a confidence of 0.7, seven in ten hold.
 * A straight line through the logarithms of odds, found on examples that were held back while the rest was learnt from.
 */
import * as Schema from "effect/Schema"

export const Calibration = Schema.Struct({ shift: Schema.Finite, slope: Schema.Finite })
export type Calibration = typeof Calibration.Type

/** One fact that was predicted for an example held back, and whether the example states it. */
export interface Outcome {
  readonly chance: number
  readonly holds: boolean
}

/** What several ontologies' examples agree on; a few examples move it a little, many move it as far as they like. */
export const calibrationPrior: Calibration = { shift: -0.3, slope: 1.1 }

const hold = 10
const rounds = 50

export const confidenceOf = ({ shift, slope }: Calibration, chance: number): number =>
  1 / (1 + Math.exp(-(shift + slope * logOdds(chance))))

/** Newton's method; two unknowns, so a few rounds settle it. */
export const calibrate = (outcomes: ReadonlyArray<Outcome>): Calibration => {
  let { shift, slope } = calibrationPrior
  for (let round = 0; round < rounds; round++) {
    let gradientShift = hold * (shift - calibrationPrior.shift)
    let gradientSlope = hold * (slope - calibrationPrior.slope)
    let [curve, cross, curveSlope] = [hold, 0, hold]
    for (const { chance, holds } of outcomes) {
      const odds = logOdds(chance)
      const confidence = 1 / (1 + Math.exp(-(shift + slope * odds)))
      const error = confidence - (holds ? 1 : 0)
      const weight = confidence * (1 - confidence)
      gradientShift += error
      gradientSlope += error * odds
      curve += weight
      cross += weight * odds
      curveSlope += weight * odds * odds
    }
    const determinant = curve * curveSlope - cross * cross
    const stepShift = (curveSlope * gradientShift - cross * gradientSlope) / determinant
    const stepSlope = (curve * gradientSlope - cross * gradientShift) / determinant
    shift -= stepShift
    slope -= stepSlope
    if (Math.abs(stepShift) + Math.abs(stepSlope) < 1e-9) break
  }
  // A falling line would call what is likelier less sure.
  return slope > 0.1 ? { shift, slope } : calibrationPrior
}

const logOdds = (chance: number): number => {
  const inside = Math.min(1 - 1e-6, Math.max(1e-6, chance))
  return Math.log(inside / (1 - inside))
}
