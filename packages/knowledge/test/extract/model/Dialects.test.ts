/** Servers with the API of OpenAI take different requests and send different answers. */

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { makeAnthropicExtractor, makeOpenAiExtractor } from "../../../src/extract/model/ModelExtractor.ts"
import { type Heard, key, type ProviderServer, type ServerDialect, startProvider, type Turn } from "../../../testing/ProviderServer.ts"
import * as Harbour from "./harbour.ts"

const good: Turn = { says: { entities: Harbour.entities } }

const extractorAt = ({ url }: ProviderServer) =>
  makeOpenAiExtractor({
    apiKey: Redacted.make(key),
    model: "gpt-5-mini",
    baseUrl: url,
    retry: { attempts: 5, firstWait: "1 millis", longestWait: "1 millis" },
  })

const formOf = ({ body }: Heard) => [
  "max_completion_tokens" in body ? "max_completion_tokens" : "max_tokens",
  body["response_format"] !== undefined,
]

describe("a server of models", () => {
  for (const dialect of [
    { limit: "max_completion_tokens", format: "json_schema" },
    { limit: "max_tokens", format: "json_schema" },
    { limit: "max_completion_tokens", format: "json_object" },
    { limit: "max_tokens", format: "json_object" },
    { limit: "max_tokens", format: "none" },
  ] as const satisfies ReadonlyArray<ServerDialect>)
    it.live(`that takes ${dialect.limit} and ${dialect.format} is found out once, also by concurrent calls`, () =>
      Effect.gen(function* () {
        const server = yield* startProvider("chat", () => good, dialect)
        const extractor = yield* extractorAt(server)
        const ontology = yield* Harbour.ontology
        const found = yield* Effect.all([extractor.entities(Harbour.chunk, ontology), extractor.entities(Harbour.chunk, ontology)], {
          concurrency: 2,
        })
        assert.deepStrictEqual(
          found.map(({ mentions, usage }) => [mentions.length, usage.calls]),
          [
            [3, 1],
            [3, 1],
          ],
        )
        const asked = server.heard.length
        yield* extractor.entities(Harbour.chunk, ontology)
        assert.strictEqual(server.heard.length, asked + 1)
        const [last, before] = server.heard.toReversed().map(formOf)
        assert.deepStrictEqual(last, before)
        if (dialect.format === "none") assert.include(JSON.stringify(server.heard.at(-1)?.body), "JSON Schema")
      }).pipe(Effect.scoped),
    )

  it.live("that takes no form of the request stops the batch, with what it said first", () =>
    Effect.gen(function* () {
      const server = yield* startProvider("chat", () => ({ status: 400, error: "this model cannot chat" }))
      const error = yield* Effect.flip((yield* extractorAt(server)).entities(Harbour.chunk, yield* Harbour.ontology))
      assert.include(error, { reason: "NotAllowed", retryable: false, stops: "ModelRefused" })
      assert.include(error.message, "this model cannot chat")
    }).pipe(Effect.scoped),
  )

  it.live("that refuses one request after it took another refuses only that one", () =>
    Effect.gen(function* () {
      const server = yield* startProvider("chat", (_, index) => (index === 0 ? good : { status: 400, error: "not this text" }))
      const extractor = yield* extractorAt(server)
      const ontology = yield* Harbour.ontology
      yield* extractor.entities(Harbour.chunk, ontology)
      const error = yield* Effect.flip(extractor.entities(Harbour.chunk, ontology))
      assert.isUndefined(error.stops)
      assert.strictEqual(server.heard.length, 2)
    }).pipe(Effect.scoped),
  )

  it.live("that filters the content of one request has taken its form", () =>
    Effect.gen(function* () {
      const filtered: Turn = { status: 400, error: "The response was filtered", code: "content_filter" }
      const server = yield* startProvider("chat", (_, index) => (index === 0 ? filtered : good))
      const extractor = yield* extractorAt(server)
      const error = yield* Effect.flip(extractor.entities(Harbour.chunk, yield* Harbour.ontology))
      assert.include(error, { reason: "Refused", retryable: false })
      assert.isUndefined(error.stops)
      assert.strictEqual(server.heard.length, 1)
    }).pipe(Effect.scoped),
  )
})

const answer = JSON.stringify({ entities: Harbour.entities })

describe("an answer", () => {
  for (const [name, turn] of [
    ["after the model's thoughts, which look like an answer", { says: `<think>Maybe {"entities": []}, or {x}?</think>\n${answer}` }],
    ["in a fence, with sentences around it", { says: `Here {as asked}:\n\`\`\`json\n${answer}\n\`\`\`\nAnything else about {ships}?` }],
    ["in parts", { says: { entities: Harbour.entities }, as: "parts" }],
    ["as the call of a tool", { says: { entities: Harbour.entities }, as: "tool" }],
  ] as const satisfies ReadonlyArray<readonly [string, Turn]>)
    it.live(`${name} is read with one call`, () =>
      Effect.gen(function* () {
        const server = yield* startProvider("chat", [turn])
        const { mentions, usage } = yield* (yield* extractorAt(server)).entities(Harbour.chunk, yield* Harbour.ontology)
        assert.deepStrictEqual([mentions.length, usage.calls], [3, 1])
      }).pipe(Effect.scoped),
    )

  it.live("of Anthropic's API as the call of a tool is read with one call", () =>
    Effect.gen(function* () {
      const server = yield* startProvider("anthropic", [{ says: { entities: Harbour.entities }, as: "tool" }])
      const extractor = yield* makeAnthropicExtractor({ apiKey: Redacted.make(key), model: "claude-sonnet-5-5", baseUrl: server.url })
      const { mentions } = yield* extractor.entities(Harbour.chunk, yield* Harbour.ontology)
      assert.strictEqual(mentions.length, 3)
    }).pipe(Effect.scoped),
  )
})
