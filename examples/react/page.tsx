/** The page of a cart: it shows what a click does at once, and sends it once. */
import { createClient } from "@detent/client"
import { useInstance } from "@detent/react"
import { optimistic } from "@detent/react/optimistic"
import { createRoot } from "react-dom/client"
import { Cart } from "./Cart.ts"

const { id, detent } = document.documentElement.dataset as { readonly id: string; readonly detent: string }

const client = createClient<{ readonly cart: typeof Cart }>({
  url: detent,
  token: async () => (await fetch(`/token/${id}`)).text(),
  patience: 2000,
})

const decide = optimistic(Cart)

const Page = () => {
  const { state, pending, error, send, can } = useInstance(client.cart, id, { decide })
  return (
    <main>
      <p id="state">{state === undefined ? "loading" : `${state._tag}: ${state.items} items`}</p>
      <p id="pending">{pending.length} waiting</p>
      <p id="error">{error?.message}</p>
      <button id="add" type="button" disabled={can({ _tag: "Add", items: 1 }) === false} onClick={() => send({ _tag: "Add", items: 1 })}>
        Add
      </button>
      <button id="order" type="button" disabled={can({ _tag: "Order" }) === false} onClick={() => send({ _tag: "Order" })}>
        Order
      </button>
    </main>
  )
}

const root = document.getElementById("root")
if (root !== null) createRoot(root).render(<Page />)
