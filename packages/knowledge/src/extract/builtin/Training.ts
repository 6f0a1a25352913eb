/**
 * Learns from examples: counts what stands by the objects of each property, fits how far each clue is to be trusted, and
 * finds out on examples held back how sure to be of what comes out. The same examples give the same model to the last bit.
 */
import type { OntologyIndex } from "../../ontology/OntologyIndex.ts"
import { type BuiltInModel, untrainedModel } from "./BuiltInModel.ts"
import { calibrate, type Outcome } from "./Calibration.ts"
import type { Example } from "./Example.ts"
import { fit } from "./Fitting.ts"
import type { KnownName } from "./Gazetteer.ts"
import { objectFeatures } from "./ObjectFeatures.ts"
import { viewOntology } from "./OntologyView.ts"
import { type Judge, type Prediction, predict } from "./Prediction.ts"
import { subjectFeatures } from "./SubjectFeatures.ts"
import { exampleNames, nameKey, type TrainingSentence, trainingSentences } from "./TrainingSentence.ts"

export interface TrainingOptions {
  /** Names known beforehand, as they will be given to the extractor. */
  readonly names?: ReadonlyArray<KnownName>
}

const folds = 5

export const trainBuiltIn = (ontology: OntologyIndex, examples: ReadonlyArray<Example>, options: TrainingOptions = {}): BuiltInModel => {
  if (examples.length === 0) return untrainedModel(ontology)
  const view = viewOntology(ontology)
  const sentences = trainingSentences(view, examples, options.names ?? [])
  const outcomes = Array.from({ length: folds }, (_, fold) => fold).flatMap((fold) => {
    const learnt = fit(
      view,
      sentences.filter(({ example }) => example % folds !== fold),
    )
    const judge: Judge = { ontology: view, ...learnt, gazetteer: undefined }
    return sentences.filter(({ example }) => example % folds === fold).flatMap((sentence) => outcomesOf(judge, sentence))
  })
  const { objectEvidence, subjectEvidence, weights } = fit(view, sentences)
  return {
    format: 1,
    ontology: ontology.hash,
    properties: view.properties.map((property) => property.iri),
    examples: examples.length,
    objectEvidence: objectEvidence.toCounts(),
    subjectEvidence: subjectEvidence.toCounts(),
    objectWeights: named(objectFeatures, weights.object),
    subjectWeights: named(subjectFeatures, weights.subject),
    calibration: calibrate(outcomes),
    names: [...new Set(exampleNames(examples).map(({ name }) => name))].sort(),
  }
}

/** What was predicted for a sentence held back, and whether its example says so too. */
const outcomesOf = (judge: Judge, sentence: TrainingSentence): ReadonlyArray<Outcome> =>
  predict(judge, sentence.read, sentence.subjectStoodBefore).predictions.flatMap((prediction) =>
    // An example shows a fact where its object stands; what a pronoun refers to stands elsewhere.
    prediction.object === "earlier"
      ? []
      : [{ chance: prediction.chance, holds: sentence.facts.some((fact) => states(sentence, fact, prediction)) }],
  )

const states = (
  { read, subjectStoodBefore }: TrainingSentence,
  fact: TrainingSentence["facts"][number],
  { subject, property, object }: Prediction,
): boolean => {
  if (fact.property !== property || object === "earlier" || !fact.objects.includes(object)) return false
  if (subject === "earlier") return subjectStoodBefore && fact.subjects.length === 0
  return nameKey(read.candidates[subject]?.text ?? "") === nameKey(fact.triple.sub)
}

const named = (names: ReadonlyArray<string>, weights: Float64Array): Readonly<Record<string, number>> =>
  Object.fromEntries(names.map((name, at) => [name, weights[at] ?? 0]))
