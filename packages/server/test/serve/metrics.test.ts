import { readFileSync } from "node:fs"
import { Event, Machine, RetryPolicy, Slot, State } from "@detent/machine"
import { defineConfig, observability } from "@detent/server"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { collecting } from "../support/collector.ts"
import { modelServer } from "../support/modelServer.ts"
import { request } from "../support/served.ts"

/** As metrics and provenance name it. */
const model = "openai/gpt-4o-mini"

/** A machine whose one command fails for good, so that a queue has a depth. */
const Bell = (() => {
  const S = State({ Silent: {}, Rung: {} })
  const E = Event({ Ring: {} })
  return Machine.make({ name: "bell", state: S, event: E, effects: Slot.Effects({ echo: {} }), initial: S.Silent() })
    .on(S.Silent, E.Ring, S.Rung)
    .enter(S.Rung, ({ effects }) => effects.echo({}), { requests: ["echo"] })
    .commands({ echo: { retry: RetryPolicy.none } })
    .build({ echo: () => Effect.die(new Error("no echo")) })
})()

/** A batch of three documents through a model, to its end, beside a command that fails. */
const batchThroughModel = Effect.gen(function* () {
  const { url, body, post, ended } = yield* modelServer({ config: defineConfig({ machines: [Bell] }) })
  yield* post("/api/v1/instances/bell", { id: "one" })
  yield* post("/api/v1/instances/bell/one/events", { _tag: "Ring" })
  const before = yield* metricsAt(url)
  const { batchId } = yield* post("/api/v1/batch", body({ extractor: "openai:gpt-4o-mini" }))
  const end = yield* ended(batchId)
  assert.strictEqual(end.state, "Completed")
  return { before, after: yield* metricsAt(url), end }
})

const metricsAt = (url: string) => Effect.map(request(`${url}/metrics`), ({ text }) => text)

/** The value of a metric with these labels; 0 where it is not printed. The registry is that of the process, so tests compare. */
const valueIn = (text: string, name: string, labels: Readonly<Record<string, string>> = {}): number => {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  const line = text.split("\n").find((one) => {
    const [, found, inside = ""] = /^(\w+)(?:\{([^}]*)\})? /.exec(one) ?? []
    return found === name && wanted.every((label) => inside.includes(label))
  })
  return Number(line?.split(" ").at(-1) ?? 0)
}

const dashboard: unknown = JSON.parse(readFileSync(new URL("../../../../infra/grafana/detent.json", import.meta.url), "utf8"))

/** The queries of a dashboard, wherever they stand in it. */
const queriesIn = (value: unknown): ReadonlyArray<string> => {
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([key, one]) => (key === "expr" && typeof one === "string" ? [one] : queriesIn(one)))
}

describe("metrics of batches", () => {
  it.live("count batches, documents, facts, stages, and what a model took and cost", () =>
    Effect.gen(function* () {
      const { before, after, end } = yield* batchThroughModel
      const grown = (name: string, labels?: Readonly<Record<string, string>>) =>
        Number((valueIn(after, name, labels) - valueIn(before, name, labels)).toFixed(9))
      assert.strictEqual(grown("detent_batches_total", { outcome: "started" }), 1)
      assert.strictEqual(grown("detent_batches_total", { outcome: "completed" }), 1)
      assert.strictEqual(grown("detent_documents_total", { outcome: "completed" }), 3)
      assert.strictEqual(grown("detent_facts_total"), end.relations)
      assert.strictEqual(grown("detent_entities_total"), end.entities)
      assert.isAbove(grown("detent_triples_ingested_total"), 0)
      for (const stage of ["extracting", "resolving", "validating", "ingesting"])
        assert.strictEqual(grown("detent_stage_milliseconds_count", { stage, outcome: "success" }), 1, stage)
      assert.strictEqual(grown("detent_document_milliseconds_count", { outcome: "success" }), 3)
      const { usage } = end
      assert.strictEqual(grown("detent_model_calls_total", { model, outcome: "success" }), usage?.calls)
      assert.strictEqual(grown("detent_model_tokens_total", { model, direction: "input" }), usage?.inputTokens)
      assert.strictEqual(grown("detent_model_tokens_total", { model, direction: "output" }), usage?.outputTokens)
      assert.strictEqual(grown("detent_model_cost_total", { model, currency: "USD" }), usage?.cost)
      assert.strictEqual(grown("detent_model_call_milliseconds_count", { model, outcome: "success" }), usage?.calls)
    }),
  )

  it.live("are those that the Grafana dashboard asks for", () =>
    Effect.gen(function* () {
      const { after } = yield* batchThroughModel
      const printed = new Set([...after.matchAll(/^# TYPE (\w+)/gm)].map(([, name = ""]) => name))
      const queries = queriesIn(dashboard)
      assert.isAbove(queries.length, 10)
      for (const query of queries) {
        const named = [...query.matchAll(/\bdetent_\w+/g)].map(([name]) => name.replace(/_(?:bucket|count|sum)$/, ""))
        assert.isAbove(named.length, 0, query)
        for (const name of named) assert.isTrue(printed.has(name), `${name} of ${query} is not printed`)
      }
    }),
  )

  it.live("go to a collector", () =>
    Effect.gen(function* () {
      const { received, otlp } = yield* collecting
      yield* batchThroughModel.pipe(Effect.scoped, Effect.provide(observability({ isTerminal: true, otlp })))
      const sent = received.get("/v1/metrics") ?? ""
      for (const name of ["batches", "documents", "facts", "model_tokens", "model_cost"]) assert.include(sent, `detent_${name}_total`)
      assert.include(sent, "detent_stage_milliseconds")
    }),
  )
})
