/** `DETENT_WORKFLOW_RUNS=5000 npm run proofs -- workflow/simulation` tries as many. */
import { madeUpWorkflows } from "./madeUpWorkflows.ts"

madeUpWorkflows(Number(process.env["DETENT_WORKFLOW_RUNS"] ?? 200))
