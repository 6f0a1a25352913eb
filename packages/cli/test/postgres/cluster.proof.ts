/** Two servers as nodes of a cluster, as operators see them: status, readiness, drain, and a kill. */
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { freePort } from "../../../store/test/support/freePort.ts"
import { freshDatabase } from "../../../store/test/support/Postgres.ts"
import { detent, detentProcess, start, temporaryFolder } from "../support/Detent.ts"
import { lampConfig, project } from "../support/Project.ts"

const token = "a secret of the tests that is long enough"

const waitFor = async <A>(read: () => Promise<A>, is: (value: A) => boolean): Promise<A> => {
  for (;;) {
    const value = await read()
    if (is(value)) return value
    await new Promise((resume) => setTimeout(resume, 100))
  }
}

describe("servers as nodes of a cluster", () => {
  it.live("both answer for every instance; one drains and is not ready; the other has everything then", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const ports = yield* Effect.all([freePort, freePort])
      yield* Effect.promise(async () => {
        const cwd = join(await temporaryFolder(), "lamps")
        await project(cwd, lampConfig(undefined, ', cluster: { lease: "4 seconds" }'))
        const outside = join(await temporaryFolder(), "outside")
        await project(outside, lampConfig())
        const env = { DETENT_DATABASE_URL: url, DETENT_CLUSTER_TOKEN: token }
        const servers: Array<ReturnType<typeof start>> = []
        try {
          // One after the other, in one data folder.
          for (const port of ports) {
            const server = start(["serve", "--port", "0", "--cluster", `127.0.0.1:${port}`, "--json"], { cwd, env })
            servers.push(server)
            await server.until(/"url":"[^"]+"/)
            await server.until(new RegExp(`this process is a node of a cluster: other nodes reach it at 127\\.0\\.0\\.1:${port}`))
          }
          const urls = servers.map(({ out }) => String(JSON.parse(out.trim().split("\n")[0] ?? "{}").url))
          const nodes = async () => {
            const { out } = await detent(["cluster", "status", "--json"], { cwd, env })
            return out
              .trim()
              .split("\n")
              .filter((line) => line !== "")
              .map((line): { address: string; shards: number; draining: boolean; leaseMillis: number } => JSON.parse(line))
          }
          const shared = await waitFor(nodes, (found) => found.length === 2 && found.every(({ shards }) => shards === 150))
          for (const { leaseMillis } of shared) assert.isAtMost(leaseMillis, 4000, "the command line leaves the configured lease as it is")
          const headers = { "content-type": "application/json" }
          const started = await Promise.all(
            Array.from({ length: 10 }, (_, index) =>
              fetch(`${urls[index % 2]}/api/v1/instances/lamp`, {
                method: "POST",
                headers,
                body: JSON.stringify({ id: `l-${index}`, state: { _tag: "Off", pin: "1" } }),
              }).then((answer) => answer.status),
            ),
          )
          assert.deepStrictEqual(new Set(started), new Set([201]))
          for (const line of [["worker"], ["serve", "--port", "0"]]) {
            const plain = await detentProcess(line, { cwd: outside, env })
            assert.strictEqual(plain.code, 4, plain.err)
            assert.include(plain.err, "nodes of a cluster work on this database (127.0.0.1:")
            assert.include(plain.err, "make it a node with --cluster HOST:PORT, read only with `detent serve --observe`")
          }
          const beside = await detent(["instance", "send", "lamp/l-1", "Switch", "--with", '{"level":1}'], { cwd: outside, env })
          assert.strictEqual(beside.code, 0, beside.err)
          const listed = (await (await fetch(`${urls[0]}/api/v1/nodes`)).json()) as { readonly nodes: ReadonlyArray<unknown> }
          assert.lengthOf(listed.nodes, 2)
          const [first] = await nodes()
          const drained = await detent(["cluster", "drain", first?.address ?? ""], { cwd, env })
          assert.strictEqual(drained.code, 0, drained.err)
          assert.include(drained.out, "is draining its 150 shards")
          await waitFor(nodes, (found) => found.some(({ shards }) => shards === 300))
          const ready = await Promise.all(urls.map((one) => fetch(`${one}/health/ready`).then(({ status }) => status)))
          assert.deepStrictEqual([...ready].sort(), [200, 503])
          const sent = await fetch(`${urls[ready.indexOf(503)]}/api/v1/instances/lamp/l-3/events`, {
            method: "POST",
            headers,
            body: JSON.stringify({ _tag: "Switch", level: 2 }),
          })
          assert.strictEqual(sent.status, 200, "a node without shards still takes requests, and sends them on")
          const withoutToken = await detentProcess(["worker", "--cluster", "127.0.0.1:7700"], { cwd, env: { DETENT_DATABASE_URL: url } })
          assert.strictEqual(withoutToken.code, 2)
          assert.include(withoutToken.err, "the cluster has no token; set DETENT_CLUSTER_TOKEN")
          const withScheme = await detentProcess(["worker", "--cluster", "http://127.0.0.1:7700"], { cwd, env })
          assert.strictEqual(withScheme.code, 2)
          assert.include(withScheme.err, "http://127.0.0.1:7700 is not an address of a node")
          const withoutAddress = await detentProcess(["worker", "--cluster-listen", "127.0.0.1:7700"], { cwd: outside, env })
          assert.strictEqual(withoutAddress.code, 2)
          assert.include(withoutAddress.err, "this node of a cluster has no address")
          const unknown = await detent(["cluster", "drain", "127.0.0.1:1"], { cwd, env })
          assert.strictEqual(unknown.code, 3)
          assert.include(unknown.err, first?.address ?? "")
          const second = shared.find(({ address }) => address !== first?.address)
          const last = await detent(["cluster", "drain", second?.address ?? ""], { cwd, env })
          assert.include(last.err, "no other node can take the shards: start one; requests wait for it, and fail after three leases")
          await waitFor(nodes, (found) => found.every(({ shards }) => shards === 0))
          const idle = await detent(["cluster", "status"], { cwd, env })
          assert.match(idle.out, /^ADDRESS +SHARDS +AT WORK +LATE +STARTED\n127\.0\.0\.1:\d+ +draining +0 +0 /)
          assert.include(idle.err, "300 shards have no node: all nodes are draining: start a new node, or restart one of these")
        } finally {
          await Promise.all(servers.map((server) => server.stop("SIGTERM")))
        }
      })
    }),
  )

  it.live("a node on SQLite is refused with the next step", () =>
    Effect.promise(async () => {
      const cwd = join(await temporaryFolder(), "lamps")
      await project(cwd, lampConfig())
      const sqlite = await detentProcess(["worker", "--cluster", "127.0.0.1:7700"], { cwd, env: { DETENT_CLUSTER_TOKEN: token } })
      assert.strictEqual(sqlite.code, 1)
      assert.include(sqlite.err, "a SQLite file belongs to one machine; give --database postgres://…")
      await detent(["instance", "start", "lamp", "l", "--with", '{"pin":"1"}'], { cwd })
      const status = await detent(["cluster", "status"], { cwd })
      assert.include(
        status.out + status.err,
        "is on SQLite, whose file belongs to one machine and has no nodes: give --database postgres://…",
      )
    }),
  )
})
