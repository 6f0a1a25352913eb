import { Mermaid } from "@detent/machine/diagram"
import { Order } from "./Order.ts"

console.log(Mermaid.stateDiagram(Order))
