import { type ChildProcess, fork, spawn } from "node:child_process"
import { once } from "node:events"
import { cp, mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as hostile from "../support/hostile.ts"
import { corpus, json, request, temporaryFolder } from "../support/served.ts"

const support = (name: string) => join(import.meta.dirname, "../support", name)

const ended = (child: ChildProcess) =>
  Effect.promise(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const over = once(child, "exit")
    child.kill("SIGKILL")
    await over
  })

const server = (data: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const child = spawn(process.execPath, [support("servingLimited.ts"), data, "0"], { stdio: ["ignore", "pipe", "inherit"] })
      const [line] = (await once(child.stdout, "data")) as [Buffer]
      return { child, url: line.toString().trim() }
    }),
    ({ child }) => ended(child),
  )

interface Measured {
  readonly count: number
  readonly median: number
  readonly slowest: number
}

/** How soon the server says that it is live, since the last time this was asked. */
const probing = (url: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => fork(support("probe.ts"), [url])),
      ended,
    ),
    (probe) =>
      Effect.promise(async () => {
        probe.send("report")
        const [measured] = (await once(probe, "message")) as [Measured]
        return measured
      }),
  )

interface Status {
  readonly batchId: string
  readonly state: string
  readonly isTerminal: boolean
}

/** Ends with the status of the batch, or with the problem that the server answered. */
const batch = (url: string, folder: string, manifest: object) =>
  Effect.gen(function* () {
    const started = yield* request(`${url}/api/v1/batch`, json({ folder: pathToFileURL(`${folder}/`).href, manifest }))
    if (started.status !== 202) return { status: started.status, text: started.text }
    const { batchId } = JSON.parse(started.text) as Status
    for (;;) {
      const { text } = yield* request(`${url}/api/v1/batch/${batchId}`)
      const state = JSON.parse(text) as Status
      if (state.isTerminal) return { status: 202, text, batchId, state: state.state }
      yield* Effect.sleep("100 millis")
    }
  })

const failures = (url: string, batchId: string) =>
  Effect.map(request(`${url}/api/v1/batch/${batchId}/documents?status=failed&limit=100`), ({ text }) =>
    (JSON.parse(text).documents as ReadonlyArray<{ readonly error: string }>).map(({ error }) => error),
  )

const ask = (url: string, sparql: string) =>
  request(`${url}/api/v1/knowledge/coast/sparql`, { method: "POST", headers: { "content-type": "application/sparql-query" }, body: sparql })

/**
 * A server whose thread is held up answers nobody. On a machine that runs other tests too, an answer is late by itself: so it is held
 * against answers of the same run in which nothing hostile was there.
 */
const assertLive = (idle: Measured, busy: Measured) => {
  assert.isAbove(busy.count, 10)
  assert.isBelow(busy.slowest, Math.max(1500, 20 * idle.slowest), `median ${busy.median}, idle ${JSON.stringify(idle)}`)
  assert.isBelow(busy.median, Math.max(100, 20 * idle.median))
}

describe("hostile content", () => {
  it.live(
    "fails alone, each with a reason, while the server answers all others",
    () =>
      Effect.gen(function* () {
        const data = yield* temporaryFolder
        const folder = join(data, "input")
        const documents = hostile.documents()
        yield* Effect.promise(async () => {
          await mkdir(folder)
          for (const [name, content] of Object.entries({ ...documents, ...hostile.ontologies(), ...hostile.shapes() }))
            await writeFile(join(folder, name), content)
          for (const name of ["ontology.ttl", "examples.jsonl", "documents/ada-sol.txt", "documents/el-haddad.txt"])
            await cp(join(corpus, name), join(folder, name))
        })
        const { url } = yield* server(data)
        const measured = yield* probing(url)
        const good = ["documents/ada-sol.txt", "documents/el-haddad.txt"].map((source) => ({ source }))
        const manifest = { targetNamespace: "coast", ontology: "ontology.ttl", examples: "examples.jsonl", documents: good }
        assert.strictEqual((yield* batch(url, folder, manifest)).state, "Completed")
        yield* measured
        yield* Effect.sleep("1 second")
        const idle = yield* measured

        // Documents.
        const all = [...good, ...Object.keys(documents).map((source) => ({ source }))]
        const mixed = yield* batch(url, folder, { ...manifest, targetNamespace: "mixed", documents: all })
        assert.strictEqual(mixed.state, "PartiallyCompleted", mixed.text)
        const errors = yield* failures(url, mixed.batchId ?? "")
        for (const name of ["objects.pdf", "bomb.pdf"])
          assert.isTrue(
            errors.some((error) => error.includes(name) && error.includes("set aside")),
            `${name}: ${errors.join("\n")}`,
          )
        assert.isTrue(errors.some((error) => /deep\.html.*nested/.test(error)))
        for (const error of errors) assert.notInclude(error, "undefined")
        assertLive(idle, yield* measured)

        // Ontologies and shapes.
        for (const ontology of Object.keys(hostile.ontologies())) {
          const outcome = yield* batch(url, folder, { ...manifest, targetNamespace: "strange", ontology })
          assert.include([202, 422], outcome.status, `${ontology}: ${outcome.text}`)
        }
        for (const shapes of Object.keys(hostile.shapes())) {
          const outcome = yield* batch(url, folder, { ...manifest, targetNamespace: "shaped", shapes })
          assert.include([202, 422], outcome.status, `${shapes}: ${outcome.text}`)
        }
        assertLive(idle, yield* measured)

        // Queries.
        for (const sparql of hostile.queries) {
          const answer = yield* ask(url, sparql)
          assert.include([200, 422, 504], answer.status, `${sparql.slice(0, 60)}: ${answer.text.slice(0, 300)}`)
          assert.isBelow(answer.text.length, 10_000_000)
          const next = yield* ask(url, "ASK { ?s ?p ?o }")
          assert.deepStrictEqual([next.status, next.text.includes("true")], [200, true], `after ${sparql.slice(0, 60)}: ${next.text}`)
        }
        assertLive(idle, yield* measured)
      }),
    300_000,
  )
})
