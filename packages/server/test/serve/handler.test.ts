import { mkdtemp, rm } from "node:fs/promises"
import type { Server } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type OpenedHandler, openHandler } from "@detent/server/handler"
import { serve as serveHono } from "@hono/node-server"
import express from "express"
import { Hono } from "hono"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { Tally } from "../support/Tally.ts"

const folders: Array<string> = []
const temporaryFolder = async () => {
  const folder = await mkdtemp(join(tmpdir(), "detent-test-"))
  folders.push(folder)
  return folder
}
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))))

const token = "operate-0123456789abcdef"
const bearer = { authorization: `Bearer ${token}` }
const json = (content: unknown): RequestInit => ({
  method: "POST",
  headers: { ...bearer, "content-type": "application/json" },
  body: JSON.stringify(content),
})

const addressOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const listening = async (server: Server) => {
  if (!server.listening) await new Promise<void>((resolve) => server.once("listening", resolve))
  return addressOf(server)
}

/** The other web servers, each with a route of its own beside Detent below `/detent`. */
const hosts: Readonly<Record<string, (detent: OpenedHandler) => Server>> = {
  Hono: (detent) => {
    const app = new Hono()
    app.get("/", (context) => context.text("shop"))
    app.all("/detent/*", (context) => detent.fetch(context.req.raw))
    return serveHono({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server
  },
  Express: (detent) => {
    const app = express()
    app.get("/", (_, response) => void response.send("shop"))
    // Express removes the path of the mount from the address.
    app.use((request, response, next) => (request.url.startsWith("/detent/") ? detent.node(request, response) : next()))
    return app.listen(0, "127.0.0.1")
  },
  "a server of Node": (detent) =>
    createServer((request, response) =>
      request.url?.startsWith("/detent/") ? detent.node(request, response) : response.end("shop"),
    ).listen(0, "127.0.0.1"),
}

describe.each(Object.entries(hosts))("a workspace inside of %s", (_, host) => {
  let detent: OpenedHandler
  let server: Server
  let url = ""

  beforeAll(async () => {
    detent = await openHandler({ data: await temporaryFolder(), machines: [Tally], token, path: "/detent" })
    server = host(detent)
    url = await listening(server)
  })
  afterAll(async () => {
    server.closeAllConnections()
    server.close()
    await detent.close()
  })

  const api = (path: string, init: RequestInit = { headers: bearer }) => fetch(`${url}/detent/api/v1${path}`, init)

  it("answers beside the routes of the other server", async () => {
    assert.strictEqual(await (await fetch(url)).text(), "shop")
    const started = await api("/instances/tally", json({ id: "one" }))
    assert.strictEqual(started.status, 201, await started.clone().text())
    const sent = await api("/instances/tally/one/events", json({ _tag: "Add", by: 3 }))
    assert.strictEqual((await sent.json()).state.count, 3)
    // The code of the other server shares the engine.
    const one = await detent.engine?.get(Tally, "one")
    await one?.send({ _tag: "Add", by: 4 })
    assert.strictEqual((await (await api("/instances/tally/one")).json()).state.count, 7)
  })

  it("checks tokens, and says what it does not have", async () => {
    assert.strictEqual((await api("/instances/tally/one", {})).status, 401)
    assert.strictEqual((await api("/nothing")).status, 404)
    const refused = await api("/instances/tally/nobody")
    assert.deepStrictEqual([refused.status, refused.headers.get("content-type")], [404, "application/problem+json"])
  })

  it("streams, and ends a stream when its client leaves", async () => {
    await api("/instances/tally", json({ id: "two" }))
    const leaving = new AbortController()
    const stream = await api("/instances/tally/two/events", { headers: { ...bearer, "last-event-id": "0" }, signal: leaving.signal })
    const sent = await api("/instances/tally/two/events", json({ _tag: "Add", by: 1 }))
    assert.strictEqual(sent.status, 200, await sent.text())
    let text = ""
    for await (const chunk of stream.body as unknown as AsyncIterable<Uint8Array>) {
      text += new TextDecoder().decode(chunk)
      if (text.includes("Add")) break
    }
    assert.include(text, "Add")
    leaving.abort()
  })

  it("takes the body of a client that sends it in pieces, and refuses one that is too large", async () => {
    const large = await api("/instances/tally/one/events", json({ _tag: "Add", by: 1, note: "x".repeat(2_000_000) }))
    assert.strictEqual(large.status, 413)
  })
})

describe("a handler of Web requests", () => {
  it("answers requests that a program makes, without a network, and 503 after its end", async () => {
    const detent = await openHandler({ data: await temporaryFolder(), machines: [Tally], token })
    const at = (path: string, init: RequestInit = { headers: bearer }) => detent.fetch(new Request(`http://shop.example${path}`, init))
    assert.strictEqual((await at("/api/v1/instances/tally", json({ id: "one" }))).status, 201)
    assert.strictEqual((await at("/api/v1/instances/tally/one")).status, 200)
    const removed = await at("/api/v1/session", { method: "DELETE", headers: bearer })
    assert.strictEqual(removed.body, null)
    const huge = await at("/api/v1/instances/tally/one/events", json({ _tag: "Add", by: 1, note: "x".repeat(9_000_000) }))
    assert.strictEqual(huge.status, 413)
    await detent.close()
    await detent.close()
    assert.strictEqual((await at("/api/v1/instances/tally/one")).status, 503)
  })

  it("answers without a token only as localhost", async () => {
    await using detent = await openHandler({ data: await temporaryFolder(), machines: [Tally] })
    assert.strictEqual((await detent.fetch(new Request("http://localhost:3000/api/v1/machines"))).status, 200)
    assert.strictEqual((await detent.fetch(new Request("http://shop.example/api/v1/machines"))).status, 421)
  })

  it("is not opened with a weak token, and leaves nothing open", async () => {
    const data = await temporaryFolder()
    const error = await openHandler({ data, machines: [Tally], token: "secret" }).then(
      () => undefined,
      (error: unknown) => error,
    )
    assert.include(String(error), "at least 16 characters")
    await using again = await openHandler({ data, machines: [Tally], token })
    assert.strictEqual((await again.fetch(new Request("http://localhost/api/v1/machines", { headers: bearer }))).status, 200)
  })

  it("refuses addresses outside of its path", async () => {
    await using detent = await openHandler({ data: await temporaryFolder(), machines: [Tally], token, path: "/detent/" })
    assert.strictEqual((await detent.fetch(new Request("http://localhost/detentions", { headers: bearer }))).status, 404)
    assert.strictEqual((await detent.fetch(new Request("http://localhost/detent/api/v1/machines", { headers: bearer }))).status, 200)
  })
})
