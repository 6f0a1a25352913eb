/** Where a worker process begins: serves the tasks of this package. */
import { serve } from "./Serving.ts"
import { makeTasks } from "./Tasks.ts"

// Without a pool that started it, there is nothing to serve.
if (process.send !== undefined) serve(makeTasks())
