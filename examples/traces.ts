/** The paths of single instances through the examples, and the results of their commands. `diagrams.ts` draws them. */
import type { Trace } from "@detent/machine"
import type { CommandReport } from "@detent/machine/diagram"
import { advance, simulate } from "@detent/machine/testing"
import { Document, E as DocumentEvent } from "./document/Document.ts"
import { Order, E as OrderEvent } from "./order/Order.ts"

const monday = Date.UTC(2026, 0, 5, 9)

/** An order that is paid after a while, shipped and delivered. */
export const order: Trace = simulate(
  Order,
  { orderId: "A-7", email: "ada@example.org", total: 42 },
  [
    OrderEvent.RequestPayment(),
    advance("12 minutes"),
    OrderEvent.ConfirmPayment({ transactionId: "t-1" }),
    advance("1 day"),
    OrderEvent.Ship({ trackingNumber: "1Z-99" }),
    advance("2 days"),
    OrderEvent.Deliver(),
  ],
  { at: monday, id: "A-7" },
).trace

/** A document that comes back with a remark, is published early in its second review, and archived. */
export const document: Trace = simulate(
  Document,
  { title: "On Detents", author: "Ada" },
  [
    DocumentEvent.Submit(),
    advance("3 hours"),
    DocumentEvent.RequestChanges({ remark: "who is the reader?" }),
    advance("1 day"),
    DocumentEvent.Edit({ title: "On Detents, for Engineers" }),
    DocumentEvent.Submit(),
    DocumentEvent.Publish({ url: "https://example.org/detents" }),
    advance("2 hours"),
    DocumentEvent.Approve(),
    advance("4 hours"),
    DocumentEvent.Approve(),
    advance("1 hour"),
    DocumentEvent.Approve(),
    advance("90 days"),
    DocumentEvent.Archive({ reason: "second edition" }),
  ],
  { at: monday, id: "on-detents" },
).trace

/** The results of the commands of that order, and of two others. */
export const orderCommands: ReadonlyArray<CommandReport.CommandRecord> = [
  { id: "A-7/2/0", instance: "A-7", name: "chargeCard", status: "completed", attempts: 2 },
  { id: "A-7/2/1", instance: "A-7", name: "notifyWarehouse", status: "completed", attempts: 1 },
  { id: "A-7/3/0", instance: "A-7", name: "sendEmail", status: "completed", attempts: 1 },
  { id: "B-2/2/0", instance: "B-2", name: "chargeCard", status: "failed", attempts: 5, error: "the bank does not answer" },
  { id: "B-2/2/1", instance: "B-2", name: "notifyWarehouse", status: "skipped", attempts: 0 },
  { id: "C-9/2/0", instance: "C-9", name: "chargeCard", status: "processing", attempts: 1 },
  { id: "C-9/2/1", instance: "C-9", name: "notifyWarehouse", status: "pending", attempts: 0 },
]
