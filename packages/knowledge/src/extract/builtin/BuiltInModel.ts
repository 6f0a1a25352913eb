/** What the built-in extractor has learnt about one ontology, as JSON. */
import * as Schema from "effect/Schema"
import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import { Calibration, calibrationPrior } from "./Calibration.ts"
import { EvidenceCounts } from "./Evidence.ts"
import { objectPrior } from "./ObjectFeatures.ts"
import { subjectPrior } from "./SubjectFeatures.ts"

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
