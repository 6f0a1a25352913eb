/** The page of examples/react in Chromium: a slow network, a server that is killed, a page that is loaded again, tokens that end. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { createClient } from "@detent/client"
import * as Effect from "effect/Effect"
import { describe, expect, it, onTestFinished } from "vitest"
import { noBrowser, useBrowser } from "../../packages/server/test/support/browser.ts"
import { addressOf } from "../../packages/server/test/support/serverProcess.ts"
import { freePort } from "../../packages/store/test/support/freePort.ts"
import { until } from "../../packages/store/test/support/patience.ts"
import { unless } from "../../packages/store/test/support/skipping.ts"
import { startApp } from "../react/app.ts"
import type { Cart } from "../react/Cart.ts"

const key = "operate-0123456789abcdef"

/** The page with a server behind it. `server` kills and starts it. */
const started = async (expiresIn: "1 hour" | "2 seconds") => {
  const data = await mkdtemp(join(tmpdir(), "detent-react-"))
  onTestFinished(() => rm(data, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }))
  const port = await Effect.runPromise(freePort)
  const detent = `http://127.0.0.1:${port}`
  const app = await startApp({ detent: () => detent, key, expiresIn })
  onTestFinished(() => void app.close())
  let child: ChildProcess | undefined
  const kill = async () => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const over = once(child, "exit")
    child.kill("SIGKILL")
    await over
  }
  const start = async () => {
    child = spawn(process.execPath, [join(import.meta.dirname, "../react/server.ts"), data, String(port), app.url], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, DETENT_TOKEN: key },
    })
    await addressOf(child)
  }
  onTestFinished(kill)
  await start()
  const client = createClient<{ readonly cart: typeof Cart }>({ url: detent, token: key, patience: 600_000 })
  await client.cart.start("mine", undefined as never)
  return { page: `${app.url}/mine`, cart: client.cart("mine"), server: { kill, start } }
}

/** What the page shows. */
const shown = `["state", "pending", "error"].map((id) => document.getElementById(id)?.innerText ?? "")`

const click = (button: string, times = 1) => `for (let n = 0; n < ${times}; n++) document.getElementById("${button}").click()`

describe("a page with useInstance", unless(noBrowser), () => {
  const open = useBrowser()

  it("shows events at once on a slow network, keeps them when the server is killed and the page is loaded again, and sends each once", async () => {
    const { page, cart, server } = await started("1 hour")
    await Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const tab = yield* open(page)
          yield* tab.shows("Open: 0 items")
          let isOpen = Promise.resolve()
          yield* tab.run((shownPage) =>
            shownPage.route("**/api/v1/**", async (route) => {
              await isOpen
              await sleep(400)
              await route.continue().catch(() => undefined)
            }),
          )
          const gate = Promise.withResolvers<void>()
          isOpen = gate.promise
          yield* tab.evaluate(click("add", 3))
          // No request has left the page.
          yield* tab.until(`(${shown}).join() === "Open: 3 items,3 waiting,"`)
          gate.resolve()
          yield* tab.until(`(${shown}).join() === "Open: 3 items,0 waiting,"`)
          yield* Effect.promise(server.kill)
          yield* tab.evaluate(click("add", 2))
          yield* tab.until(`(${shown}).slice(0, 2).join() === "Open: 5 items,2 waiting"`)
          yield* tab.run((shownPage) => shownPage.reload().then(() => undefined))
          yield* tab.until(`(${shown}).slice(0, 2).join() === "loading,2 waiting"`)
          yield* Effect.promise(server.start)
          yield* tab.until(`(${shown}).slice(0, 2).join() === "Open: 5 items,0 waiting"`)
        }),
      ),
    )
    expect(await cart.snapshot()).toMatchObject({ state: { _tag: "Open", items: 5 }, sequence: 5 })
  })

  it("takes back what the server decides otherwise, says why, and continues when its token has ended", async () => {
    const { page, cart } = await started("2 seconds")
    await Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const tab = yield* open(page)
          yield* tab.shows("Open: 0 items")
          // Longer than a token lasts, on an idle machine too.
          yield* Effect.promise(() => sleep(2500))
          yield* tab.evaluate(click("add"))
          yield* tab.until(`(${shown}).join() === "Open: 1 items,0 waiting,"`)
          const gate = Promise.withResolvers<void>()
          yield* tab.run((shownPage) => shownPage.route("**/api/v1/**/events", (route) => gate.promise.then(() => route.continue())))
          yield* tab.evaluate(click("add"))
          yield* tab.until(`(${shown}).slice(0, 2).join() === "Open: 2 items,1 waiting"`)
          yield* Effect.promise(() => cart.send({ _tag: "Order" }))
          gate.resolve()
          yield* tab.until(`(${shown}).slice(0, 2).join() === "Ordered: 1 items,0 waiting"`)
          yield* tab.until(`document.getElementById("error").innerText.includes("Ordered")`)
          yield* tab.until(`document.getElementById("add").disabled`)
        }),
      ),
    )
    await until("the cart is ordered", async () => (await cart.state())._tag === "Ordered")
    expect((await cart.snapshot()).sequence).toBe(2)
  })
})
