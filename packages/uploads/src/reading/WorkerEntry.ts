/** Where a worker process begins: reads items of definitions of the user. */
import { serve } from "@detent/durable/Serving"
import { readItems } from "./ReadingTask.ts"

// Without a pool that started it, there is nothing to serve.
if (process.send !== undefined) serve((task) => (task === "items.read" ? readItems : undefined))
