/** The entry point of a worker process, which reads items with definitions of the user. */
import { serve } from "@detent/processes/Serving"
import { readItems } from "./ReadingTask.ts"

// Serves only as a child process of a pool.
if (process.send !== undefined) serve((task) => (task === "items.read" ? readItems : undefined))
