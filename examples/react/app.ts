/**
 * The application of the cart: it serves the page, and gives each visitor a token for one cart. A real one checks first who asks. Run it
 * with a Detent server beside it:
 *
 *     npx node examples/react/app.ts
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { makeInstanceTokens } from "@detent/server/tokens"
import type * as Duration from "effect/Duration"
import { build } from "vite"
import { Cart } from "./Cart.ts"

export interface AppOptions {
  /** The address of the Detent server. */
  readonly detent: () => string
  /** The token that it was started with. */
  readonly key: string
  readonly expiresIn: Duration.Input
  readonly port?: number
}

/** The page as one script. */
const script = async (): Promise<string> => {
  const built = await build({
    configFile: false,
    logLevel: "silent",
    define: { "process.env.NODE_ENV": '"production"' },
    // A test runner sets NODE_ENV, which would choose the JSX of development.
    oxc: { jsx: { runtime: "automatic", development: false } },
    build: { write: false, minify: true, lib: { entry: join(import.meta.dirname, "page.tsx"), formats: ["es"] } },
  })
  const [{ output }] = built as unknown as [{ readonly output: ReadonlyArray<{ readonly code?: string }> }]
  return output.map(({ code = "" }) => code).join("")
}

const idPattern = /^\/(?:token\/)?([a-z0-9-]{1,50})$/

export const startApp = async ({ detent, key, expiresIn, port = 0 }: AppOptions) => {
  const page = await script()
  const tokens = makeInstanceTokens(key)
  const app = createServer((request, response) => {
    const url = request.url ?? "/"
    if (url === "/page.js") return response.writeHead(200, { "content-type": "text/javascript" }).end(page)
    const id = idPattern.exec(url)?.[1]
    if (id === undefined) return response.writeHead(404).end()
    if (url.startsWith("/token/")) return response.end(tokens.forInstance(Cart, id, { read: true, events: ["Add", "Order"], expiresIn }))
    return response
      .writeHead(200, { "content-type": "text/html; charset=utf-8" })
      .end(`<!doctype html><html lang="en" data-id="${id}" data-detent="${detent()}"><title>Cart</title><link rel="icon" href="data:,">
<body><div id="root"></div><script type="module" src="/page.js"></script></body></html>`)
  })
  await new Promise<void>((resolve) => app.listen(port, "127.0.0.1", resolve))
  return { url: `http://127.0.0.1:${(app.address() as AddressInfo).port}`, close: () => app.close() }
}

if (import.meta.main) {
  const key = process.env["DETENT_TOKEN"] ?? ""
  const app = await startApp({ detent: () => "http://127.0.0.1:4400", key, expiresIn: "1 hour", port: 4401 })
  console.log(`${app.url}/cart-1`)
}
