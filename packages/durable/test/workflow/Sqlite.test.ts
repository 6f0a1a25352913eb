import { sqliteLayer } from "../../../store/test/support/Sqlite.ts"
import { workflowConformance } from "../../testing/workflow/WorkflowConformance.ts"

workflowConformance("SQLite", sqliteLayer)
