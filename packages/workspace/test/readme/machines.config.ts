import { defineConfig } from "@detent/workspace/Config"
import { Order } from "./Order.ts"

export default defineConfig({ machines: [Order] })
