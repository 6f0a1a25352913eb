import { writeFile } from "node:fs/promises"
import { Svg } from "@detent/machine/diagram"
import { simulate } from "@detent/machine/testing"
import * as Effect from "effect/Effect"
import { E, Order } from "./Order.ts"

const { trace } = simulate(Order, { total: 42 }, [E.Pay(), E.Charged({ receipt: "r-1" })])
export const drawing = Svg.render(Order, { trace })

if (import.meta.main) await writeFile("order.svg", await Effect.runPromise(drawing))
