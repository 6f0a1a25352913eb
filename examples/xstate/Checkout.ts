/** A checkout: payment and shipping in parallel, a payment service that may fail, a parcel as a child machine. */
import { RetryPolicy } from "@detent/machine"
import { fromXState } from "@detent/xstate"
import { assign, fromPromise, sendParent, sendTo, setup } from "xstate"

const parcelMachine = setup({
  types: {
    context: {} as { orderId: string },
    input: {} as { orderId: string },
    events: {} as { type: "scanned"; place: string } | { type: "delivered" },
  },
}).createMachine({
  id: "parcel",
  context: ({ input }) => input,
  initial: "onTheWay",
  states: {
    onTheWay: {
      on: { scanned: { actions: sendParent(({ event }) => ({ type: "seen", place: event.place })) }, delivered: "delivered" },
    },
    delivered: { type: "final" },
  },
})

export const checkoutMachine = setup({
  types: {
    context: {} as { orderId: string; amount: number; receipt: string; places: ReadonlyArray<string>; problem: string },
    input: {} as { orderId: string; amount: number },
    events: {} as { type: "track"; place: string } | { type: "seen"; place: string } | { type: "handOver" } | { type: "payAgain" },
  },
  actors: {
    parcel: parcelMachine,
    charge: fromPromise(async ({ input }: { input: { orderId: string; amount: number } }) => `receipt of ${input.orderId}`),
  },
  delays: { patience: 3 * 24 * 3_600_000 },
}).createMachine({
  id: "checkout",
  context: ({ input }) => ({ ...input, receipt: "", places: [], problem: "" }),
  initial: "open",
  states: {
    open: {
      type: "parallel",
      states: {
        payment: {
          initial: "charging",
          states: {
            charging: {
              invoke: {
                src: "charge",
                input: ({ context: { orderId, amount } }) => ({ orderId, amount }),
                onDone: { target: "paid", actions: assign({ receipt: ({ event }) => event.output }) },
                onError: { target: "refused", actions: assign({ problem: ({ event }) => (event.error as Error).message }) },
              },
            },
            refused: { on: { payAgain: "charging" }, after: { patience: "#checkout.cancelled" } },
            paid: { type: "final" },
          },
        },
        shipping: {
          initial: "underway",
          states: {
            underway: {
              invoke: {
                id: "parcel",
                src: "parcel",
                input: ({ context: { orderId } }) => ({ orderId }),
                onDone: "arrived",
              },
              on: {
                track: { actions: sendTo("parcel", ({ event }) => ({ type: "scanned", place: event.place })) },
                seen: { actions: assign({ places: ({ context, event }) => [...context.places, event.place] }) },
                handOver: { actions: sendTo("parcel", { type: "delivered" }) },
              },
            },
            arrived: { type: "final" },
          },
        },
      },
      onDone: "complete",
    },
    complete: { type: "final" },
    cancelled: { type: "final" },
  },
})

/** A command charges the card: three attempts a second apart, all with the same idempotency key. */
export const Checkout = fromXState(checkoutMachine, {
  version: 1,
  actors: {
    charge: {
      retry: RetryPolicy.fixed({ delay: "1 second", maxAttempts: 3 }),
      run: async ({ orderId, amount }, { key }) => `${amount} for ${orderId}, charged under ${key}`,
    },
  },
})
