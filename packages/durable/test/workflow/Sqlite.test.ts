import { workflowConformance } from "../../testing/workflow/WorkflowConformance.ts"
import { sqliteLayer } from "../support/Sqlite.ts"

workflowConformance("SQLite", sqliteLayer)
