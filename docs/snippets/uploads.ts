import { defineUpload } from "@detent/uploads"
import * as Schema from "effect/Schema"

// #region deliver
export const Products = defineUpload({
  name: "Products",
  schema: Schema.Struct({ sku: Schema.String, title: Schema.String, price: Schema.Finite }),
  id: "sku",
  deliver: {
    batchSize: 200,
    rate: { limit: 10, interval: "1 second" },
    send: async ({ items, key }) => {
      const body = JSON.stringify(items.map(({ item }) => item))
      const answer = await fetch("https://shop.example/products", { method: "POST", body, headers: { "idempotency-key": key } })
      if (!answer.ok) throw new Error(`the shop answered ${answer.status}`)
    },
  },
})
// #endregion deliver
