/** Writes the JSON Schema of workflow files: `npx node packages/entity/test/writeSchema.ts`. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { EntityWorkflow } from "../src/index.ts"
import { layout } from "../src/JsonLayout.ts"

export const schemaFile = join(import.meta.dirname, "..", "entity-workflow.schema.json")

export const schemaText = (): string => layout(EntityWorkflow.jsonSchema())

if (import.meta.main) writeFileSync(schemaFile, schemaText())
