/** What the `detent` command and the server know of this project. */
import { defineConfig } from "@detent/workspace/Config"
import { nightly, Report } from "./src/nightly.ts"
import { Order } from "./src/Order.ts"
import { payments } from "./src/payments.ts"

export default defineConfig({ machines: [Order], workflows: [Report], schedules: [nightly], webhooks: [payments] })
