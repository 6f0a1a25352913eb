import { defineConfig } from "@detent/workspace/Config"
import { Order } from "./Order.ts"

export default defineConfig({
  machines: [Order],
  // Each node has an address of its own; the token is in DETENT_CLUSTER_TOKEN.
  cluster: { address: process.env["NODE_ADDRESS"] ?? "127.0.0.1:7700", lease: "10 seconds" },
})
