/** The entry point of a worker process of the oracle. */
import { serve } from "@detent/processes/Serving"
import { judge, judgeTask } from "./OracleTask.ts"

// Serves only as a child process of a pool.
if (process.send !== undefined) serve((task) => (task === judgeTask ? judge : undefined))
