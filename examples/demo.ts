/**
 * `npm run demo`: orders in a process that is killed in the middle of a payment, then the documents of the shipped corpus become a graph.
 * Stop it with Ctrl-C or kill it, and start it again: it resumes. On a terminal the console of the demo then stays open.
 */
import { join, relative, resolve } from "node:path"
import { bankAnswersAfter, fullMailboxes, serveProvider } from "@detent/cli/demo"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { buildGraph } from "./demo/Graph.ts"
import { earlierOrders, playOrders } from "./demo/Orders.ts"
import { row, say, style, title } from "./demo/Screen.ts"
import { type Shop, startShop } from "./demo/Shop.ts"

const folder = resolve(process.env["DETENT_DEMO_FOLDER"] ?? ".detent/demo")

/** Asks for books and their authors, by name. */
const labelQuery =
  "PREFIX : <https://example.org/coast#> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> " +
  "SELECT ?book ?author { ?x :writtenBy ?y ; rdfs:label ?book . ?y rdfs:label ?author }"

const scope = Scope.makeUnsafe()
let shop: Shop | undefined

const play = async (): Promise<Shop | undefined> => {
  say(style.bold("Detent: state machines that survive crashes"))
  const options = { ledger: join(folder, "charges.jsonl"), answersAfter: bankAnswersAfter, fullMailboxes }
  const providers = await Effect.runPromise(Scope.provide(serveProvider(options), scope))
  const start = async () => {
    shop = await startShop(folder, providers.url)
    return shop
  }
  const first = await start()
  const earlier = await earlierOrders(first.client)
  if (earlier.length > 0) {
    title(1, "The orders of an earlier demo")
    for (const line of earlier) row("", line)
  }
  const running = earlier.length > 0 ? first : await playOrders(first, providers, start)
  const batchId = await buildGraph(running.client)
  if (batchId === undefined) {
    process.exitCode = 1
    return running
  }
  const path = (file: string) => relative(process.cwd(), file)
  say(`\nThe graph       ${path(join(folder, "canonical/coast/entities.ttl"))}`)
  say(`The report      ${path(join(folder, "batches", batchId, "validation/report.json"))}`)
  say(`The facts       npx detent graph relations --data ${path(folder)}`)
  say(`The entities    npx detent graph entities --data ${path(folder)}`)
  say(`Ask in SPARQL   npx detent graph query "${labelQuery}" --data ${path(folder)}`)
  say(`Start over      rm -r ${path(folder)}`)
  return running
}

/** Only a person gets the console: a program that reads the output waits for its end. */
const isPerson = process.stdout.isTTY === true && process.stdin.isTTY === true

/** Ctrl-C ends the process of the shop, which stores what it has accepted. */
const interrupted = new Promise<"interrupted">((resolve) => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve("interrupted"))
  process.stdout.once("error", () => resolve("interrupted"))
})

const main = async (): Promise<"interrupted" | "ended"> => {
  const running = await Promise.race([play(), interrupted])
  if (running === "interrupted") return running
  if (running === undefined || process.exitCode === 1) return "ended"
  if (!isPerson) {
    say(`See it          npx detent dev --demo --data ${relative(process.cwd(), folder)}`)
    return "ended"
  }
  say(`\n${style.bold("Open")}            ${style.cyan(`${running.url}/instances/order/order-1`)}\n\nCtrl-C ends it.`)
  await interrupted
  return "ended"
}

if (import.meta.main) {
  try {
    if ((await main()) === "interrupted") {
      process.exitCode = 130
      say("\nStopped. Start it again to resume where it stopped: npm run demo")
    }
  } finally {
    await shop?.stop()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
