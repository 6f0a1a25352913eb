/** The refund with async functions. Run it: `npx node examples/refund/withAsync.ts refunds.db`. */
import { openEngine } from "@detent/durable/promise"
import { Bank } from "./Bank.ts"
import { E, Refund, upcasters } from "./Refund.ts"

export const refundWith = (bank: Bank) => Refund.build({ pay: async ({ amount }, { key, signal }) => bank.pay(key, amount, signal) })

if (import.meta.main) {
  const Built = refundWith(new Bank())
  const database = `sqlite:${process.argv[2] ?? "refunds.db"}` as const
  await using engine = await openEngine({ database, machines: [Built], upcasters: { refund: upcasters } })
  const refund = await engine.ensure(Built, "refund-1", { order: "order-1", amount: 250, currency: "EUR" })
  if ((await refund.state())._tag === "AwaitingApproval") {
    console.log(await refund.ask(E.GetStatus()))
    await refund.send(E.Approve({ approvedBy: "Ada" }), { id: "approval-1" })
  }
  console.log(await refund.awaitFinal())
}
