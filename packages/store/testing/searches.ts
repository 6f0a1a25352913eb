/** Searches of the orders of {@link import("./searchPopulation.ts")}: each kind of condition and order, selective and not. */
import type { SearchFilter } from "../src/contract/Search.ts"

const field = (name: string) => ({ name, isLabel: false })
const byDue = { name: "dueAt", isLabel: false, kind: "number", direction: "ascending" } as const
const byCustomer = { name: "customer", isLabel: false, kind: "text", direction: "descending" } as const
const machine = "order"

export const searches: Readonly<Record<string, SearchFilter>> = {
  "a customer": { machine, where: [{ ...field("customer"), equals: "customer-77" }] },
  "a customer, by due date": { machine, where: [{ ...field("customer"), equals: "customer-77" }], order: byDue },
  "large ones": { machine, where: [{ ...field("size"), equals: "large" }] },
  "large ones, by due date": { machine, where: [{ ...field("size"), equals: "large" }], order: byDue },
  "large open ones of a range, by due date": {
    machine,
    where: [
      { ...field("size"), equals: "large" },
      { ...field("total"), above: 50_000 },
    ],
    order: byDue,
    tag: ["Open"],
  },
  "a wide range": { machine, where: [{ ...field("total"), above: 10 }] },
  "a narrow range, by due date": { machine, where: [{ ...field("total"), atLeast: 500, atMost: 501 }], order: byDue },
  "all, by due date": { machine, where: [], order: byDue },
  "a prefix, by it": { machine, where: [{ ...field("customer"), atLeast: "customer-1", below: "customer-2" }], order: byCustomer },
  "an incident": { machine, where: [{ name: "incident", isLabel: true, equals: "inc-3" }] },
  // Each fits a quarter and more, both together none: the page ends early.
  "conditions that never meet": {
    machine,
    where: [
      { ...field("size"), equals: "large" },
      { ...field("total"), above: 10 },
    ],
    order: byDue,
    tag: ["Gone"],
  },
}
