/** Three orders: one whose payment survives a kill, one that is cancelled by its deadline, one whose mail becomes a dead letter. */
import { type DemoOrder, firstOrders, type Provider } from "@detent/cli/demo"
import * as Effect from "effect/Effect"
import { row, say, style, title } from "./Screen.ts"
import type { Client, Shop } from "./Shop.ts"

const run = Effect.runPromise

/** Asks again until there is an answer. */
const until = async <A>(what: string, ask: () => Promise<A | undefined> | A | undefined): Promise<A> => {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; ) {
    const answer = await ask()
    if (answer !== undefined) return answer
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`${what} did not happen within a minute`)
}

const order = (id: string) => ({ params: { machine: "order", id } })

const stateOf = async (client: Client, id: string) => (await run(client.instances.get(order(id)))).state

/** Waits until an order is in a state, and returns the state. */
const inState = (client: Client, id: string, tag: string) =>
  until(`${id} becomes ${tag}`, async () => {
    const state = await stateOf(client, id)
    return state._tag === tag ? state : undefined
  })

/** The orders that an earlier demo left in the folder. */
export const earlierOrders = async (client: Client): Promise<ReadonlyArray<string>> => {
  const { instances } = await run(client.instances.list({ query: { machine: "order" } }))
  return instances.map(({ id, state }) => `${id} is ${state}`).sort()
}

/** Plays the orders, and returns the process that runs at the end. */
export const playOrders = async (first: Shop, providers: Provider, restart: () => Promise<Shop>): Promise<Shop> => {
  title(1, "A payment survives kill -9")
  await place(first.client, "order-1")
  await place(first.client, "order-2")
  await pay(first.client, "order-1")
  row("order-1", "Placed → Charging", "stored together with the command to charge the card")
  await until("the charge", () => providers.charges()[0])
  await first.kill()
  row("", style.red(`kill -9 ${first.pid}`), "the bank has charged the card, and the shop does not know")
  const killedAt = performance.now()
  const shop = await restart()
  row("", style.green("started again"), `as process ${shop.pid}, after ${((performance.now() - killedAt) / 1000).toFixed(1)} s`)
  const paid = await inState(shop.client, "order-1", "Paid")
  row("order-1", "Charging → Paid", `the command ran again under the same idempotency key: ${paid["receipt"]}`)
  const charges = providers.charges().filter(({ customer }) => customer === "ada")
  row(
    "the bank",
    `${providers.requestsOf("ada")} requests, ${style.bold(`${charges.length} charge`)}`,
    charges.map(({ key }) => key).join(" "),
  )

  title(2, "A timer fires, although the process was killed")
  const cancelled = await inState(shop.client, "order-2", "Cancelled")
  row("order-2", "Placed → Cancelled", String(cancelled["reason"]))

  title(3, "A dead letter is found and retried")
  await retryMail(shop.client)
  return shop
}

const place = async (client: Client, id: DemoOrder) => {
  const input = firstOrders[id]
  await run(client.instances.start({ params: { machine: "order" }, payload: { id, input } }))
  row(id, `${input.customer} orders a ${input.item}`, `${input.total}.00`)
}

const pay = (client: Client, id: string) => run(client.instances.send({ ...order(id), headers: {}, payload: { _tag: "Pay" } }))

const retryMail = async (client: Client) => {
  const id = "order-3"
  await place(client, id)
  await pay(client, id)
  await inState(client, id, "Paid")
  row(id, "Charging → Paid", "the mail with the receipt is a command")
  const commands = () => run(client.commands.list({ query: { machine: "order", id, slot: "sendMail" } }))
  const failed = await until("the dead letter", async () => (await commands()).commands.find(({ status }) => status === "failed"))
  row("sendMail", style.red(`failed ${failed.attempts} times`), failed.problem ?? "")
  await run(client.commands.retry({ params: { key: failed.key } }))
  row("", `retry ${failed.key}`, `npx detent command retry ${failed.key}`)
  await until("the mail", async () => (await commands()).commands.find(({ status }) => status === "completed"))
  row("sendMail", style.green("completed"), "once; the order never left its state")
  say()
}
