/** Each provider has its own address, header and form of requests, and its own faults. */

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { type ModelExtractorOptions, makeModelExtractor } from "../../../src/extract/model/ModelExtractor.ts"
import type { ProviderOptions } from "../../../src/extract/model/provider/Provider.ts"
import type { ProviderName } from "../../../src/extract/model/provider/ProviderName.ts"
import { providers } from "../../../src/extract/model/provider/Providers.ts"
import { type Api, key, type Script, type ServerDialect, startProvider, type Turn } from "../../../testing/ProviderServer.ts"
import * as Harbour from "./harbour.ts"

const good: Turn = { says: { entities: Harbour.entities } }

const quick = { retry: { attempts: 3, firstWait: "1 millis", longestWait: "1 millis" } } as const satisfies ModelExtractorOptions

interface Case {
  readonly name: ProviderName
  readonly api: Api
  readonly options?: Partial<ProviderOptions>
  readonly extractor?: ModelExtractorOptions
  readonly dialect?: ServerDialect
}

const setUp = ({ name, api, options = {}, extractor = {}, dialect }: Case, script: Script) =>
  Effect.gen(function* () {
    const server = yield* startProvider(api, script, dialect)
    // The address of Azure is that of the resource, below which the fake has its API at another path.
    const client = yield* providers[name].make({ apiKey: Redacted.make(key), model: "m", baseUrl: server.url, ...options })
    return { server, made: yield* makeModelExtractor(client, { ...quick, ...extractor }), ontology: yield* Harbour.ontology }
  })

const entitiesOf = (one: Case, script: Script) =>
  Effect.flatMap(setUp(one, script), ({ made, server, ontology }) =>
    Effect.map(made.entities(Harbour.chunk, ontology), (found) => ({ ...found, heard: server.heard })),
  )

const failureOf = (one: Case, script: Script) => Effect.flip(entitiesOf(one, script))

const all: ReadonlyArray<Case> = [
  { name: "openai", api: "chat" },
  { name: "anthropic", api: "anthropic" },
  { name: "gemini", api: "chat" },
  { name: "ollama", api: "ollama" },
  { name: "openrouter", api: "chat" },
]

for (const one of all)
  describe(`a model of ${one.name}`, () => {
    it.live("answers in parts, and is alive while they arrive", () =>
      Effect.gen(function* () {
        // The whole answer takes longer than the timeout, each part less.
        const slow: Turn = { says: { entities: Harbour.entities }, pauseMillis: 300 }
        const { mentions, usage, heard } = yield* entitiesOf({ ...one, extractor: { timeout: "900 millis" } }, [slow])
        assert.strictEqual(mentions.length, 3)
        assert.deepInclude(usage, { calls: 1, inputTokens: 100, outputTokens: 20 })
        assert.deepStrictEqual(
          heard.map(({ body }) => body["stream"]),
          [true],
        )
      }).pipe(Effect.scoped),
    )

    it.live("that ends its stream too early is asked again", () =>
      Effect.gen(function* () {
        const { mentions, heard } = yield* entitiesOf(one, [{ breaksOff: "end" }, good])
        assert.deepStrictEqual([mentions.length, heard.length], [3, 2])
      }).pipe(Effect.scoped),
    )

    it.live("is asked for the effort that the user wants", () =>
      Effect.gen(function* () {
        const { heard } = yield* entitiesOf({ ...one, options: { effort: "low" } }, [good])
        const { reasoning_effort, reasoning, output_config: output, think } = heard[0]?.body ?? {}
        const expected = {
          openai: [reasoning_effort, "low"],
          gemini: [reasoning_effort, "low"],
          openrouter: [reasoning, { effort: "low" }],
          anthropic: [(output as { effort?: string })?.effort, "low"],
          ollama: [think, "low"],
          azure: [],
        }[one.name]
        assert.deepStrictEqual(expected[0], expected[1])
      }).pipe(Effect.scoped),
    )
  })

const [openai, anthropic, gemini, ollama, openrouter] = all as [Case, Case, Case, Case, Case]

describe("a fault of a provider", () => {
  it.live("in the middle of a stream has the meaning of its kind", () =>
    Effect.gen(function* () {
      const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }
      const { mentions, heard } = yield* entitiesOf(anthropic, [{ breaksOff: { error: overloaded } }, good])
      assert.deepStrictEqual([mentions.length, heard.length], [3, 2])
      const away = { error: { code: 502, message: "Provider returned error" }, choices: [{ delta: {}, finish_reason: "error" }] }
      const lost = yield* failureOf(openrouter, () => ({ breaksOff: { error: away } }))
      assert.include(lost, { reason: "Unavailable", stops: "ModelUnavailable" })
      const gone = yield* failureOf(ollama, () => ({ breaksOff: { error: { error: "model runner has unexpectedly stopped" } } }))
      assert.include(gone.message, "model runner has unexpectedly stopped")
    }).pipe(Effect.scoped),
  )

  it.live("with the status of success is a fault all the same", () =>
    Effect.gen(function* () {
      const empty = yield* failureOf(openrouter, [{ late: { error: { code: 402, message: "Insufficient credits" } } }])
      assert.include(empty, { reason: "NotAllowed", stops: "ModelRefused" })
      assert.include(empty.message, "402 Insufficient credits; check the account's credit")
    }).pipe(Effect.scoped),
  )

  it.live("of its moderation concerns one text, and not the key", () =>
    Effect.gen(function* () {
      const flagged = { error: { code: 403, message: "flagged", metadata: { reasons: ["violence"], flagged_input: "..." } } }
      const refused = yield* failureOf(openrouter, [{ status: 403, whole: flagged }])
      assert.include(refused, { reason: "Refused", retryable: false })
      assert.isUndefined(refused.stops)
    }).pipe(Effect.scoped),
  )

  it.live("in a list, as Google sends it, is read", () =>
    Effect.gen(function* () {
      const whole = [{ error: { code: 404, message: "models/m is not found", status: "NOT_FOUND" } }]
      assert.include((yield* failureOf(gemini, [{ status: 404, whole }])).message, "404 models/m is not found; check the name of the model")
    }).pipe(Effect.scoped),
  )
})

describe("a server", () => {
  it.live("that sends streams only to verified customers is asked for whole answers", () =>
    Effect.gen(function* () {
      const dialect = { limit: "max_completion_tokens", format: "json_schema", streams: false } as const
      const { mentions, heard } = yield* entitiesOf({ ...openai, dialect }, () => good)
      assert.strictEqual(mentions.length, 3)
      assert.deepStrictEqual(
        heard.map(({ body }) => body["stream"]),
        [true, undefined],
      )
    }).pipe(Effect.scoped),
  )

  for (const format of ["tool", "none"] as const)
    it.live(`of Anthropic's API that takes no schema is asked by ${format === "tool" ? "a tool" : "instructions"}`, () =>
      Effect.gen(function* () {
        const dialect = { limit: "max_tokens", format } as const
        const says: Turn = format === "tool" ? { says: { entities: Harbour.entities }, as: "tool" } : good
        const { mentions, heard } = yield* entitiesOf({ ...anthropic, dialect }, () => says)
        assert.strictEqual(mentions.length, 3)
        assert.strictEqual("tools" in (heard.at(-1)?.body ?? {}), format === "tool")
      }).pipe(Effect.scoped),
    )

  it.live("of Azure is called below the address of the resource, with its own header", () =>
    Effect.gen(function* () {
      const heard: Array<string> = []
      for (const path of ["", "/openai/v1"]) {
        const { made, server, ontology } = yield* setUp({ name: "azure", api: "chat" }, () => good)
        const client = yield* providers.azure.make({ apiKey: Redacted.make(key), model: "my-deployment", baseUrl: `${server.url}${path}` })
        const problem = yield* Effect.flip((yield* makeModelExtractor(client, quick)).entities(Harbour.chunk, ontology))
        assert.strictEqual(made.name, "azure/m")
        assert.strictEqual(server.heard[0]?.headers["api-key"], key)
        assert.isUndefined(server.heard[0]?.headers["authorization"])
        assert.strictEqual(server.heard[0]?.body["model"], "my-deployment")
        assert.include(problem.message, "check the name of the model")
        heard.push(server.heard[0]?.path ?? "")
      }
      assert.deepStrictEqual(heard, ["/v1/openai/v1/chat/completions", "/v1/openai/v1/chat/completions"])
    }).pipe(Effect.scoped),
  )

  it.live("of OpenRouter is asked for a provider that knows the schema of the answer", () =>
    Effect.gen(function* () {
      const { heard } = yield* entitiesOf(openrouter, [good])
      assert.deepStrictEqual(heard[0]?.body["provider"], { require_parameters: true })
    }).pipe(Effect.scoped),
  )
})

describe("a model of Ollama", () => {
  it.live("gets a context that holds the prompt, which only grows", () =>
    Effect.gen(function* () {
      const { made, server, ontology } = yield* setUp(ollama, () => ({ says: { entities: [] } }))
      const long = { ...Harbour.chunk, text: "Nothing happened that day. ".repeat(2000) }
      for (const chunk of [Harbour.chunk, long, Harbour.chunk]) yield* made.entities(chunk, ontology)
      const contexts = server.heard.map(({ body }) => (body["options"] as { num_ctx: number }).num_ctx)
      assert.deepStrictEqual(contexts, [8192, 32_768, 32_768])
    }).pipe(Effect.scoped),
  )

  it.live("is found at the address of its own variable, which may lack protocol and port", () =>
    Effect.gen(function* () {
      const { server, ontology } = yield* setUp(ollama, () => good)
      const baseUrl = server.url.replace("http://127.0.0.1", "0.0.0.0")
      const client = yield* providers.ollama.make({ model: "m", baseUrl })
      const { mentions } = yield* (yield* makeModelExtractor(client, quick)).entities(Harbour.chunk, ontology)
      assert.strictEqual(mentions.length, 3)
    }).pipe(Effect.scoped),
  )
})

describe("the cost of a prompt", () => {
  const prices = {
    currency: "USD",
    models: [{ model: "m", input: 10, output: 0, cachedInput: 1, cacheWrite: 12.5, asOf: "2026-11" }],
  }
  for (const one of [openai, anthropic])
    it.live(`that ${one.name} reads from its cache is that of the cache`, () =>
      Effect.gen(function* () {
        const { usage, heard } = yield* entitiesOf({ ...one, extractor: { prices } }, [{ says: { entities: [] }, cached: 90 }])
        assert.strictEqual(usage.inputTokens, 100)
        assert.closeTo(usage.cost ?? 0, (10 * 10 + 90 * 1) / 1_000_000, 1e-12)
        if (one.name === "anthropic") assert.include(JSON.stringify(heard[0]?.body["system"]), '"cache_control":{"type":"ephemeral"}')
      }).pipe(Effect.scoped),
    )
})
