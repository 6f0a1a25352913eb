/** Scores extractors on texts whose facts are known. */
export { type CommandOptions, type Printed, runEvaluation } from "./Command.ts"
export { builtIn, fromEnvironment } from "./Contestants.ts"
export { type Case, type Dataset, DatasetError, loadDocuments, loadSentences } from "./Dataset.ts"
export { type Contestant, type Evaluated, type EvaluationOptions, evaluate } from "./Evaluation.ts"
export { type Figures, type Scored, type Scores, scoresOf } from "./Score.ts"
