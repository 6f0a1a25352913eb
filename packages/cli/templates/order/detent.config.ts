/** What the `detent` command and the server know of this project. */
import { defineConfig } from "@detent/workspace/Config"
import { Order } from "./src/Order.ts"

export default defineConfig({ machines: [Order] })
