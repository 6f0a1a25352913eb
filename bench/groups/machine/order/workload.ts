/** W2: an order of six states. A round creates one and takes it to its end by seven events. */
export interface Order {
  readonly status: string
  readonly items: ReadonlyArray<string>
  readonly total: number
}

export type OrderEvent =
  | { readonly type: "AddItem"; readonly item: string; readonly price: number }
  | { readonly type: "RequestPayment" }
  | { readonly type: "Pay"; readonly amount: number }
  | { readonly type: "Ship" }
  | { readonly type: "Deliver" }
  | { readonly type: "Cancel" }

/** Created once: the time to create events is not measured. */
export const events: ReadonlyArray<OrderEvent> = [
  { type: "AddItem", item: "book", price: 20 },
  { type: "AddItem", item: "pen", price: 2 },
  { type: "AddItem", item: "lamp", price: 35 },
  { type: "RequestPayment" },
  { type: "Pay", amount: 57 },
  { type: "Ship" },
  { type: "Deliver" },
]

/** The end that every contestant must reach. */
export const expected: Order = { status: "Delivered", items: ["book", "pen", "lamp"], total: 57 }
