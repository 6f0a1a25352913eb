/** Where a thread of the pool begins: serves the tasks of this package. */
import { parentPort } from "node:worker_threads"
import { serve } from "./Serving.ts"
import { makeTasks } from "./Tasks.ts"

if (parentPort !== null) serve(parentPort, makeTasks())
