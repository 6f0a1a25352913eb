/** The same machine in other words, so that every decision is compared to the end. */
import { defineConfig } from "@detent/workspace/Config"
import { built, make, specimens } from "../../../../packages/durable/test/oracle/machines.ts"

const text = (specimens.get("order") ?? "").replace("state.total > 100", "!(state.total <= 100)")

export default defineConfig({ machines: [built(make(text))] })
