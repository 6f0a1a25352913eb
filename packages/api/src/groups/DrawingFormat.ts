/** The formats of drawings of machines. */
import * as Schema from "effect/Schema"

/** `sequence` is Mermaid and `timeline` is DOT. Both draw an instance; the others draw its machine, with the path marked. */
export const DrawingFormat = Schema.Literals(["svg", "mermaid", "flowchart", "dot", "sequence", "timeline"])
export type DrawingFormat = typeof DrawingFormat.Type
