import { defineConfig } from "@detent/workspace/Config"
import { Order } from "./Order.ts"

export default defineConfig({
  machines: [Order],
  limits: { eventSize: 100_000, commands: 4, http: { bodyBytes: 200_000, answerTimeout: "10 seconds" } },
})
