/**
 * The trained model of the built-in extractor for one ontology, as JSON: evidence, the weights of a linear model that ranks the choices
 * of a sentence, and the calibration of the confidences.
 */
import * as Schema from "effect/Schema"
import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import { EvidenceCounts } from "./Evidence.ts"
import { objectPrior } from "./ObjectFeatures.ts"
import { subjectPrior } from "./SubjectFeatures.ts"

// Calibration turns chances into confidences: of the facts with a confidence of 0.7, seven in ten hold. The log odds of the confidence
// are a linear function of the log odds of the chance, fitted to held-out examples.

const Calibration = Schema.Struct({ shift: Schema.Finite, slope: Schema.Finite })
type Calibration = typeof Calibration.Type

/** One predicted fact of a held-out example, and whether the example states it. */
export interface Outcome {
  readonly chance: number
  readonly holds: boolean
}

/** Fitted to the examples of several ontologies. A few examples move it a little; many outweigh it. */
export const calibrationPrior: Calibration = { shift: -0.3, slope: 1.1 }

const calibrationRegularization = 10
const calibrationRounds = 50

export const confidenceOf = ({ shift, slope }: Calibration, chance: number): number =>
  1 / (1 + Math.exp(-(shift + slope * logOdds(chance))))

/** Newton's method: with two unknowns it converges in a few rounds. */
export const calibrate = (outcomes: ReadonlyArray<Outcome>): Calibration => {
  let { shift, slope } = calibrationPrior
  for (let round = 0; round < calibrationRounds; round++) {
    let gradientShift = calibrationRegularization * (shift - calibrationPrior.shift)
    let gradientSlope = calibrationRegularization * (slope - calibrationPrior.slope)
    let [curve, cross, curveSlope] = [calibrationRegularization, 0, calibrationRegularization]
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
  // A falling line would give likelier facts a lower confidence.
  return slope > 0.1 ? { shift, slope } : calibrationPrior
}

const logOdds = (chance: number): number => {
  const inside = Math.min(1 - 1e-6, Math.max(1e-6, chance))
  return Math.log(inside / (1 - inside))
}

const Weights = Schema.Record(Schema.String, Schema.Finite)

export const BuiltInModel = Schema.Struct({
  /** Raised when features change their meaning, so that an old model is not misread. */
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

/** The model without examples: no evidence, and the prior weights. The extractor then knows the ontology's labels alone. */
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

// The ranking of the choices of a sentence against each other and against choosing none. Trained by gradient descent over all examples
// at once (AdaGrad), regularised toward the prior: the same examples always give the same weights, to the last bit.

/** The choices one sentence offers. The score of choosing none is 0. */
export interface Choices {
  /** The features of each choice. */
  readonly rows: ReadonlyArray<Float64Array>
  /** Which choices are right; none, when nothing is to be chosen. */
  readonly right: ReadonlyArray<boolean>
}

export interface RankingOptions {
  /** The initial weights. */
  readonly prior: Float64Array
  /** How strongly weights are pulled toward the prior. */
  readonly regularization: number
  readonly rounds: number
}

const step = 0.3

export const trainRanking = (examples: ReadonlyArray<Choices>, { prior, regularization, rounds }: RankingOptions): Float64Array => {
  const weights = prior.slice()
  const squares = new Float64Array(prior.length).fill(1e-6)
  const packed = examples.map(pack)
  const gradient = new Float64Array(prior.length)
  for (let round = 0; round < rounds; round++) {
    for (let at = 0; at < weights.length; at++) gradient[at] = regularization * (weights[at]! - prior[at]!)
    for (const choices of packed) addGradient(choices, weights, gradient)
    for (let at = 0; at < weights.length; at++) {
      const slope = gradient[at]!
      squares[at] = squares[at]! + slope * slope
      weights[at] = weights[at]! - (step * slope) / Math.sqrt(squares[at]!)
    }
  }
  return weights
}

/** Choices as sparse rows, one after the other: most features are zero. */
interface Packed {
  readonly features: Uint16Array
  readonly values: Float64Array
  /** Where each choice ends in `features` and `values`. */
  readonly ends: Uint32Array
  /** The target probability of each choice. */
  readonly shares: Float64Array
  readonly powers: Float64Array
}

const pack = ({ rows, right }: Choices): Packed => {
  const features: Array<number> = []
  const values: Array<number> = []
  const ends = new Uint32Array(rows.length)
  const count = right.reduce((sum, one) => sum + (one ? 1 : 0), 0)
  rows.forEach((row, choice) => {
    row.forEach((value, feature) => {
      if (value === 0) return
      features.push(feature)
      values.push(value)
    })
    ends[choice] = features.length
  })
  return {
    features: Uint16Array.from(features),
    values: Float64Array.from(values),
    ends,
    shares: Float64Array.from(right, (one) => (one ? 1 / count : 0)),
    powers: new Float64Array(rows.length),
  }
}

const addGradient = ({ features, values, ends, shares, powers }: Packed, weights: Float64Array, gradient: Float64Array) => {
  let highest = 0
  for (let choice = 0, at = 0; choice < ends.length; choice++) {
    let sum = 0
    for (; at < ends[choice]!; at++) sum += weights[features[at]!]! * values[at]!
    powers[choice] = sum
    if (sum > highest) highest = sum
  }
  let total = Math.exp(-highest)
  for (let choice = 0; choice < ends.length; choice++) {
    powers[choice] = Math.exp(powers[choice]! - highest)
    total += powers[choice]!
  }
  for (let choice = 0, at = 0; choice < ends.length; choice++) {
    const error = powers[choice]! / total - shares[choice]!
    // The many hopeless choices would take most of the time and change nothing.
    if (Math.abs(error) < 1e-5) {
      at = ends[choice]!
      continue
    }
    for (; at < ends[choice]!; at++) gradient[features[at]!] = gradient[features[at]!]! + error * values[at]!
  }
}

export const score = (weights: Float64Array, row: Float64Array): number => {
  let sum = 0
  for (let at = 0; at < row.length; at++) sum += weights[at]! * row[at]!
  return sum
}

/** The softmax of the scores, with the score 0 of choosing none among them. */
export const chancesOf = (scores: ReadonlyArray<number>): ReadonlyArray<number> => {
  let highest = 0
  for (const one of scores) if (one > highest) highest = one
  const powers = scores.map((one) => Math.exp(one - highest))
  let total = Math.exp(-highest)
  for (const power of powers) total += power
  return powers.map((power) => power / total)
}
