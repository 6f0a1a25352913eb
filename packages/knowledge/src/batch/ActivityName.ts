import * as Schema from "effect/Schema"

export const ActivityName = Schema.Literals(["extraction", "resolution", "validation", "ingestion"])
export type ActivityName = typeof ActivityName.Type
