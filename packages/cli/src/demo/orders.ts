/** The orders of the demo. */

/** Long enough to kill the shop between the charge and the bank's answer. */
export const bankAnswersAfter = 1500

/** The customer's first mails are refused, and the command that sends them becomes a dead letter. */
export const fullMailboxes: Readonly<Record<string, number>> = { alan: 3 }

/** The demo pays the first and the third. Its deadline cancels the second. */
export const firstOrders = {
  "order-1": { customer: "ada", item: "lamp", total: 42 },
  "order-2": { customer: "grace", item: "chair", total: 80 },
  "order-3": { customer: "alan", item: "desk", total: 230 },
} as const

export type DemoOrder = keyof typeof firstOrders

export const unpaidOrder = "order-2" satisfies DemoOrder
