/** The client against a real server: with refusals, tokens that end, and a server that is killed. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { createClient, Disconnected, Refused } from "@detent/client"
import { makeInstanceTokens } from "@detent/server"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { build } from "vite"
import { describe, expect, it, onTestFinished } from "vitest"
import { useServed } from "../../server/test/support/served.ts"
import { killServer, startServer } from "../../server/test/support/serverProcess.ts"
import type { Tally } from "../../server/test/support/Tally.ts"
import { freePort } from "../../store/test/support/freePort.ts"

const key = "operate-0123456789abcdef"

const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => "accepted",
    (error: unknown) => (error instanceof Refused ? [error.status, error.kind] : error),
  )

describe("a client", () => {
  const server = useServed({ serve: { token: Redacted.make(key) } })
  const connected = async () => {
    const { url } = await Effect.runPromise(server)
    return { url, client: createClient<{ readonly tally: typeof Tally }>({ url, token: key }) }
  }

  it("starts, sends, asks, reads and lists", async () => {
    const { client } = await connected()
    expect(await client.tally.start("one")).toMatchObject({ state: { _tag: "Open", count: 0 }, sequence: 0, status: "running" })
    const tally = client.tally("one")
    expect(await tally.send({ _tag: "Add", by: 2 })).toMatchObject({ outcome: "Stay", state: { count: 2 }, sequence: 1 })
    expect(await tally.ask({ _tag: "Count" })).toBe(2)
    expect(await tally.state()).toMatchObject({ _tag: "Open", count: 2 })
    expect((await tally.legalEvents()).map(({ event }) => event).sort()).toEqual(["Add", "Close", "Count", "Pause"])
    const { instances } = await client.tally.list({ search: "one", state: ["Open", "Paused"] })
    expect(instances.map(({ id, state }) => [id, state])).toEqual([["one", "Open"]])
  })

  it("an event under the id of another takes effect once, and one without an id each time", async () => {
    const { client } = await connected()
    await client.tally.start("twice")
    const tally = client.tally("twice")
    const first = await tally.send({ _tag: "Add", by: 1 }, { id: "click-1" })
    expect(await tally.send({ _tag: "Add", by: 1 }, { id: "click-1" })).toEqual(first)
    await Promise.all([tally.send({ _tag: "Add", by: 1 }), tally.send({ _tag: "Add", by: 1 })])
    expect(await tally.state()).toMatchObject({ count: 3 })
    await expect(tally.send({ _tag: "Close" }, { id: "two words" })).rejects.toThrow('"two words" is no id of an event')
  })

  it("a refusal has its status, kind and next step", async () => {
    const { client, url } = await connected()
    await client.tally.start("refused")
    const tally = client.tally("refused")
    expect(await refusal(client.tally.start("refused"))).toEqual([409, "ActorExists"])
    expect(await refusal(client.tally("nobody").state())).toEqual([404, "InstanceNotFound"])
    expect(await refusal(tally.send({ _tag: "Resume" }))).toEqual([409, "InvalidTransition"])
    expect(await refusal(createClient<{ readonly tally: typeof Tally }>({ url }).tally("refused").state())).toEqual([401, "TokenMissing"])
    await expect(tally.send({ _tag: "Resume" })).rejects.toThrow(/Resume/)
    const elsewhere = createClient<{ readonly tally: typeof Tally }>({
      url: `http://127.0.0.1:${await Effect.runPromise(freePort)}`,
      patience: 300,
    })
    const lost = await elsewhere
      .tally("refused")
      .send({ _tag: "Close" }, { id: "close-1" })
      .catch((error: unknown) => error)
    expect(lost).toBeInstanceOf(Disconnected)
    expect(lost).toMatchObject({ id: "close-1", message: expect.stringContaining('send it again with { id: "close-1" }') })
  })

  it("follows an instance to its end, and stops when it is aborted", async () => {
    const { client } = await connected()
    await client.tally.start("followed")
    const tally = client.tally("followed")
    const counts: Array<number> = []
    const sent = ["Add", "Add", "Close"]
    for await (const { state, status } of tally.watch()) {
      counts.push(state.count)
      const next = sent.shift()
      if (next === "Add") await tally.send({ _tag: "Add", by: 1 })
      else if (next === "Close") await tally.send({ _tag: "Close" })
      else expect(status).toBe("final")
    }
    expect(counts).toEqual([0, 1, 2, 2])
    await client.tally.start("left")
    const leaving = new AbortController()
    const seen = (async () => {
      for await (const _ of client.tally("left").watch({ signal: leaving.signal })) leaving.abort(new Error("left the page"))
    })()
    await expect(seen).rejects.toThrow("left the page")
  })

  it("asks for a token again when that one has ended, and gives up when it gets the same", async () => {
    const { client, url } = await connected()
    await client.tally.start("page")
    const at = (when: number) => makeInstanceTokens(key, () => when)
    const token = (when: number) => at(when).forInstanceOf("tally", "page", { read: true, events: ["Add"], expiresIn: "1 hour" })
    const ended = token(Date.now() - 7_200_000)
    const given = [ended, token(Date.now())]
    const asked: Array<string> = []
    const page = createClient<{ readonly tally: typeof Tally }>({
      url,
      token: () => {
        const next = given.shift() ?? ended
        asked.push(next)
        return next
      },
    })
    await page.tally("page").send({ _tag: "Add", by: 5 })
    expect(await page.tally("page").state()).toMatchObject({ count: 5 })
    expect(asked.length).toBe(2)
    expect(await refusal(page.tally("page").send({ _tag: "Close" }))).toEqual([403, "OutOfScope"])
    expect(
      await refusal(
        createClient<{ readonly tally: typeof Tally }>({ url, token: () => ended })
          .tally("page")
          .state(),
      ),
    ).toEqual([401, "TokenExpired"])
  })
})

it("a server that is killed while events are sent loses and doubles none, and the stream resumes", async () => {
  const data = await mkdtemp(join(tmpdir(), "detent-client-"))
  onTestFinished(() => rm(data, { recursive: true, force: true }))
  const port = String(await Effect.runPromise(freePort))
  let running = await Effect.runPromise(startServer("dyingServer.ts", data, port))
  onTestFinished(() => void running.child.kill("SIGKILL"))
  const client = createClient<{ readonly tally: typeof Tally }>({ url: running.url, patience: 600_000 })
  await client.tally.start("killed")
  const tally = client.tally("killed")
  const seen: Array<number> = []
  const watched = (async () => {
    for await (const { state } of tally.watch()) seen.push(state.count)
  })()
  const all = Array.from({ length: 30 }, () => tally.send({ _tag: "Add", by: 1 }))
  await Promise.race(all)
  await Effect.runPromise(killServer(running, "SIGKILL"))
  all.push(...Array.from({ length: 10 }, () => tally.send({ _tag: "Add", by: 1 })))
  running = await Effect.runPromise(startServer("dyingServer.ts", data, port))
  await Promise.all(all)
  await tally.send({ _tag: "Close" })
  await watched
  expect(seen.at(-1)).toBe(40)
  expect(seen).toEqual([...seen].sort((one, other) => one - other))
})

it("costs a page at most 5 kB, compressed", async () => {
  const built = await build({
    configFile: false,
    logLevel: "silent",
    build: { write: false, minify: true, lib: { entry: join(import.meta.dirname, "../src/index.ts"), formats: ["es"] } },
  })
  const [{ output }] = built as unknown as [{ readonly output: ReadonlyArray<{ readonly code: string }> }]
  const code = output.map((chunk) => chunk.code).join("")
  expect(code).toContain("idempotency-key")
  expect(gzipSync(code).length).toBeLessThanOrEqual(5_000)
})
