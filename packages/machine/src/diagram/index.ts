/** Diagrams of machines and of the histories of their instances. */
export * as CommandReport from "./CommandReport.ts"
export * as Dot from "./Dot.ts"
export * as Flows from "./Flows.ts"
export * as Layout from "./Layout.ts"
export * as Mermaid from "./Mermaid.ts"
export * as Model from "./Model.ts"
export * as Svg from "./Svg.ts"
