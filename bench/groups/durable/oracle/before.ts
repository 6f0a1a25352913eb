/** The code that the instances ran with, as a worker process loads it. */
import { defineConfig } from "@detent/workspace/Config"
import { built, make, specimens } from "../../../../packages/durable/test/oracle/machines.ts"

export default defineConfig({ machines: [built(make(specimens.get("order") ?? ""))] })
