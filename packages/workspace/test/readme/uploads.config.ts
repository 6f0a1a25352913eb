import { defineUpload } from "@detent/uploads"
import { defineConfig } from "@detent/workspace/Config"
import * as Schema from "effect/Schema"

const Products = defineUpload({
  name: "Products",
  schema: Schema.Struct({ sku: Schema.String, title: Schema.String, price: Schema.Finite }),
  id: "sku",
  index: { text: ["title"] },
})

export default defineConfig({ uploads: [Products, "items"] })
