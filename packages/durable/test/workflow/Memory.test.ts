import * as MemoryStore from "../../src/MemoryStore.ts"
import { workflowConformance } from "../../testing/workflow/WorkflowConformance.ts"

workflowConformance("memory", MemoryStore.layer)
