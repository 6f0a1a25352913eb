import { advance, assertPath, explore, formatReport, simulate } from "@detent/machine/testing"
import { E, Order } from "./Order.ts"

// Throws with the path it took where that differs.
assertPath(Order, { total: 42 }, [E.Pay(), E.Charged({ receipt: "r-1" })], ["Open", "Charging", "Paid"])

const { state, requests, refusals } = simulate(Order, { total: 42 }, [E.Pay(), E.Pay(), E.Declined(), advance("30 minutes")])
console.log(state)
console.log(requests.map(({ slot }) => slot))
console.log(refusals.map(({ error }) => error.message))

console.log(formatReport(explore(Order)))
