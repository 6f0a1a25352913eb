/** What the built-in extractor has learnt about one ontology, as JSON. */
import * as Schema from "effect/Schema"
import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import { EvidenceCounts } from "./Evidence.ts"
import { objectPrior } from "./ObjectFeatures.ts"
import { subjectPrior } from "./SubjectFeatures.ts"

// Turns chances into confidences that mean what they say: of the facts given with a confidence of 0.7, seven in ten hold. A
// straight line through the logarithms of odds, found on examples that were held back while the rest was learnt from.

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

const Weights = Schema.Record(Schema.String, Schema.Finite)

export const BuiltInModel = Schema.Struct({
  /** Counts up when features change their meaning, so that an old model is not misread. */
  format: Schema.Literal(1),
  /** The hash of the ontology it was trained for. */
  ontology: Schema.String,
  /** The properties that evidence is counted for, in that order. */
  properties: Schema.Array(Schema.String),
  examples: Schema.Int,
  objectEvidence: EvidenceCounts,
  subjectEvidence: EvidenceCounts,
  /** By the names of features. */
  objectWeights: Weights,
  subjectWeights: Weights,
  calibration: Calibration,
  /** Names of the examples' objects, worth looking for elsewhere. */
  names: Schema.Array(Schema.String),
})
export type BuiltInModel = typeof BuiltInModel.Type

/** What is known without examples: the ontology's own words, and weights that serve in general. */
export const untrainedModel = (ontology: OntologyIndex): BuiltInModel => ({
  format: 1,
  ontology: ontology.hash,
  properties: [],
  examples: 0,
  objectEvidence: { positives: [], clues: {} },
  subjectEvidence: { positives: [], clues: {} },
  objectWeights: objectPrior,
  subjectWeights: subjectPrior,
  calibration: calibrationPrior,
  names: [],
})
