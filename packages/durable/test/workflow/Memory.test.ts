import { MemoryStore } from "@detent/store"
import { workflowConformance } from "../../testing/workflow/WorkflowConformance.ts"

workflowConformance("memory", MemoryStore.layer)
