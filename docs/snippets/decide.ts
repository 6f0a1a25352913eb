import { Machine } from "@detent/machine"
import { E, Order, S } from "./Order.ts"

const paid = Machine.decide(Order, S.Open({ total: 42 }), E.Pay())
if (paid._tag === "Goto") console.log(paid.state._tag, JSON.stringify(paid.requests))

const late = Machine.decide(Order, S.Paid({ total: 42, receipt: "r-1" }), E.Cancel({ reason: "too late" }))
if (late._tag === "Refused") console.log(late.error.message)
