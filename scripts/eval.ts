/** `npm run eval`: scores the extractors. The evaluation itself is in packages/knowledge/evaluation; this prints its output. */

import * as Effect from "effect/Effect"
import { runEvaluation } from "../packages/knowledge/evaluation/index.ts"

const { out, problem, exitCode } = await Effect.runPromise(runEvaluation(process.argv.slice(2)))
if (problem !== undefined) console.error(problem)
if (out !== "") console.log(out)
process.exitCode = exitCode
