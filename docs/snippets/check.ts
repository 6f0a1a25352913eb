import { alwaysEventually, check, formatCheck, never } from "@detent/machine/testing"
import { Order } from "./Order.ts"

const report = check(Order, {
  starts: [{ total: 42 }],
  // All others come from results of effects.
  events: ["Pay", "Cancel"],
  awaited: ["Pay"],
  properties: {
    ends: alwaysEventually(({ status }) => status === "final"),
    "a cancelled order is not charged": never(({ state, executed }) => state._tag === "Cancelled" && (executed["charge"] ?? 0) > 0),
  },
})
console.log(formatCheck(report))
