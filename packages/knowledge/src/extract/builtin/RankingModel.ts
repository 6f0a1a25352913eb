/**
 * A linear model that ranks the choices of a sentence against each other and against choosing none. Trained by plain
 * gradient descent over all examples at once, with weights held near where they begin: the same examples always give the
 * same weights, to the last bit.
 */

/** The choices one sentence offers. The score of choosing none is 0. */
export interface Choices {
  /** The features of each choice. */
  readonly rows: ReadonlyArray<Float64Array>
  /** Which choices are right; none, when nothing is to be chosen. */
  readonly right: ReadonlyArray<boolean>
}

export interface RankingOptions {
  readonly begin: Float64Array
  /** How strongly weights are held to where they begin. */
  readonly hold: number
  readonly rounds: number
}

const step = 0.3

export const trainRanking = (examples: ReadonlyArray<Choices>, { begin, hold, rounds }: RankingOptions): Float64Array => {
  const weights = begin.slice()
  const squares = new Float64Array(begin.length).fill(1e-6)
  const packed = examples.map(pack)
  const gradient = new Float64Array(begin.length)
  for (let round = 0; round < rounds; round++) {
    for (let at = 0; at < weights.length; at++) gradient[at] = hold * (weights[at]! - begin[at]!)
    for (const choices of packed) addGradient(choices, weights, gradient)
    for (let at = 0; at < weights.length; at++) {
      const slope = gradient[at]!
      squares[at] = squares[at]! + slope * slope
      weights[at] = weights[at]! - (step * slope) / Math.sqrt(squares[at]!)
    }
  }
  return weights
}

/** Choices with the features that are not zero written one after the other; most are zero. */
interface Packed {
  readonly features: Uint16Array
  readonly values: Float64Array
  /** Where each choice ends in both. */
  readonly ends: Uint32Array
  /** The share that belongs to each choice. */
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
    // The many choices that are out of the question anyway cost most of the time and change nothing.
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

/** The chance of each choice, with the choice of none among them. */
export const chancesOf = (scores: ReadonlyArray<number>): ReadonlyArray<number> => {
  let highest = 0
  for (const one of scores) if (one > highest) highest = one
  const powers = scores.map((one) => Math.exp(one - highest))
  let total = Math.exp(-highest)
  for (const power of powers) total += power
  return powers.map((power) => power / total)
}
