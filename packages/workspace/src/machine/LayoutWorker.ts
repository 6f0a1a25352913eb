/** The entry point of a worker process, which lays out diagrams. */
import { serve } from "@detent/processes/Serving"
import { place, placeTask } from "./LayoutTask.ts"

// Serves only as a child process of a pool.
if (process.send !== undefined) serve((task) => (task === placeTask ? place : undefined))
