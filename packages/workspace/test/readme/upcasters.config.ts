import { defineConfig } from "@detent/workspace/Config"
import { Order } from "./Order.ts"

export default defineConfig({
  machines: [Order],
  // Version 1 of the machine stored no total.
  upcasters: { order: { 1: { state: (json) => ({ total: 0, ...json }) } } },
})
