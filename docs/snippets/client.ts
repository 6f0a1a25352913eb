import { createClient, Refused } from "@detent/client"
import type { Order } from "./Order.ts"

// #region page
// The machines of the server, by their names and types alone: the page loads no machine.
const client = createClient<{ readonly order: typeof Order }>({
  url: "https://orders.example",
  token: async () => (await fetch("/token-for-my-order")).text(), // asked for again when that one has ended
})

export const cancel = async (id: string, show: (text: string) => void) => {
  const order = client.order(id)
  try {
    await order.send({ _tag: "Cancel", reason: "changed my mind" })
  } catch (error) {
    if (error instanceof Refused && error.kind === "InvalidTransition") return show("the order cannot be cancelled any more")
    throw error
  }
}

export const follow = async (id: string, show: (text: string) => void, signal: AbortSignal) => {
  for await (const { state } of client.order(id).watch({ signal })) show(state._tag)
}
// #endregion page
