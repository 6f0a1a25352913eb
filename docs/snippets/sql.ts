import { sendStatement, startStatement } from "@detent/durable/promise"
import type { Client } from "pg"
import { E, Order } from "./Order.ts"

/** Run by hand: it needs a PostgreSQL. */
export const sell = async (client: Client, order: string, total: number) => {
  // #region statements
  await client.query("begin")
  await client.query("insert into orders (id, total) values ($1, $2)", [order, total])
  await client.query(startStatement(Order, order, { input: { total } }))
  await client.query(sendStatement(Order, order, E.Pay(), { key: `pay-${order}` }))
  await client.query("commit")
  // #endregion statements
}
