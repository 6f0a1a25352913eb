import { describe, expect, it } from "vitest"
import type { CommandRecord } from "../../src/diagram/CommandReport.ts"
import { CommandReport } from "../../src/diagram/index.ts"
import { readFlow } from "./readMermaid.ts"

const commands: ReadonlyArray<CommandRecord> = [
  { id: 1, instance: "order-1", name: "chargeCard", status: "completed", attempts: 1 },
  { id: 2, instance: "order-2", name: "chargeCard", status: "failed", attempts: 3, error: "declined | by <bank>\nagain" },
  { id: 3, instance: "order-1", name: "sendReceipt", status: "completed", attempts: 2 },
  { id: 4, instance: "order-2", name: "sendReceipt", status: "skipped", attempts: 0 },
]

describe("133 the command report", () => {
  it("133 counts by status in a table", () => {
    expect(CommandReport.summaryTable({ completed: 28, failed: 1 })).toBe(`| Status | Count |
| --- | --- |
| ⏳ Pending | 0 |
| 🔄 Processing | 0 |
| ✅ Completed | 28 |
| ❌ Failed | 1 |
| ⏭️ Skipped | 0 |
| **Total** | **29** |
`)
  })

  it("133 lists the commands by instance", () => {
    expect(CommandReport.commandList(commands)).toBe(`### order-1

| Id | Command | Status | Attempts | Error |
| --- | --- | --- | --- | --- |
| 1 | chargeCard | ✅ Completed | 1 |  |
| 3 | sendReceipt | ✅ Completed | 2 |  |

### order-2

| Id | Command | Status | Attempts | Error |
| --- | --- | --- | --- | --- |
| 2 | chargeCard | ❌ Failed | 3 | declined \\| by &lt;bank&gt; again |
| 4 | sendReceipt | ⏭️ Skipped | 0 |  |
`)
    expect(CommandReport.commandList([])).toBe("No commands.\n")
  })

  it("133 draws the flow from kinds of command to statuses", async () => {
    const { nodes, edges } = await readFlow(CommandReport.flowchart(commands))
    expect([...nodes.values()].flat()).toEqual(["chargeCard", "sendReceipt", "✅ Completed", "❌ Failed", "⏭️ Skipped"])
    expect(edges.map(({ from, label, to }) => `${from} ${label} ${to}`)).toEqual([
      "c1 1 completed",
      "c1 1 failed",
      "c2 1 completed",
      "c2 1 skipped",
    ])
  })

  it("133 puts it all together, with the counts given or counted", () => {
    const report = CommandReport.report({ title: "Order Processing Commands", commands })
    expect(report.startsWith("# Order Processing Commands\n\n## Summary\n\n| Status |")).toBe(true)
    expect(report).toContain("| ✅ Completed | 2 |")
    expect(report).toContain("```mermaid\nflowchart LR\n")
    expect(report).toContain("## Commands by instance\n\n### order-1\n")
    expect(CommandReport.report({ commands, counts: { completed: 500 } })).toContain("| ✅ Completed | 500 |")
    expect(CommandReport.report({ commands: [] })).not.toContain("mermaid")
  })
})
