import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { makeBudget } from "../../src/extract/model/Cost.ts"
import { type ModelExtractorOptions, makeOpenAiExtractor } from "../../src/extract/model/ModelExtractor.ts"
import { Extractions } from "../../src/runs/Extractions.ts"
import { type Heard, key, type ProviderServer, questionIn, startProvider, type Turn } from "../../testing/ProviderServer.ts"
import { folderWith, partOf, port, requestIn } from "./Sea.ts"

/** One sentence fills a chunk, so that each chunk names ships of its own. */
const chunkCount = 6
const text = Array.from(
  { length: chunkCount },
  (_, index) => `Ship${index}1 passed Ship${index}2 ${"in the thick fog ".repeat(100)}off the cape.`,
).join(" ")

const ships = (index: number) => ({
  says: { entities: [1, 2].map((one) => ({ quote: `Ship${index}${one}`, class: "Ship", confidence: 0.9 })) },
})
const passed = (index: number) => ({
  says: {
    facts: [
      {
        subject: 1,
        property: "passed",
        object: 2,
        value: null,
        normalized: null,
        confidence: 0.9,
        quote: `Ship${index}1 passed Ship${index}2`,
      },
    ],
  },
})
const answers = (from: number): ReadonlyArray<Turn> =>
  Array.from({ length: chunkCount - from }, (_, index) => [ships(from + index), passed(from + index)]).flat()

const extractorOn = (server: ProviderServer, options: ModelExtractorOptions = {}) =>
  makeOpenAiExtractor({
    apiKey: Redacted.make(key),
    model: "any",
    baseUrl: server.url,
    maxOutputTokens: 500,
    limits: { requestsPerMinute: 10_000, concurrency: 1 },
    ...options,
  })

const requestFor = (root: string) => ({
  ...requestIn(root, "log.txt"),
  config: { windowSize: 2000, overlap: 0, batchSize: 1, concurrency: 1 },
  part: partOf(1),
})

/** Which chunk a question was about. */
const chunkOf = ({ body }: Heard): number => Number(/Ship(\d)1 passed/.exec(JSON.stringify(body))?.[1])

describe("a run that asks a model", () => {
  it.live("stops at its budget, says how to resume, and with a larger one repeats no call of a stored batch", () =>
    Effect.gen(function* () {
      const root = yield* folderWith({ "log.txt": text })
      const first = yield* startProvider("chat", answers(0))
      // Each call takes 120 tokens and sets aside several times that: some calls fit, and not all.
      const tight = yield* makeBudget({ tokens: 6 * 120 + 1000 })
      const failure = yield* Effect.provide(
        Effect.flip(Effect.flatMap(Extractions, (extractions) => extractions.run(requestFor(root)))),
        port({ root, extractor: yield* extractorOn(first, { budget: tight }) }),
      )
      expect(failure).toMatchObject({ _tag: "RunFailed", code: "ExtractionFailed", retryable: false })
      expect(failure.message).toContain("raise the budget and resume")
      const asked = first.heard.map(chunkOf)
      const stored = asked.length % 2 === 0 ? asked.length / 2 : (asked.length - 1) / 2
      expect(stored).toBeGreaterThan(0)
      expect(stored).toBeLessThan(chunkCount)
      expect((yield* tight.spent).inputTokens).toBe(100 * asked.length)

      const second = yield* startProvider("chat", answers(stored))
      const ample = yield* makeBudget({ tokens: 1_000_000 })
      const result = yield* Effect.provide(
        Effect.flatMap(Extractions, (extractions) => extractions.resume(failure.runId, requestFor(root))),
        port({ root, extractor: yield* extractorOn(second, { budget: ample }) }),
      )
      expect(result.facts).toBe(chunkCount)
      expect(second.heard.map(chunkOf)).toEqual(
        Array.from({ length: chunkCount - stored }, (_, index) => [stored + index, stored + index]).flat(),
      )
      // What the stored batches used counts in the end too.
      expect(result).toMatchObject({ calls: 2 * chunkCount, inputTokens: 200 * chunkCount, outputTokens: 40 * chunkCount })
    }),
  )

  it.live("waits as long as a 429 asks for, and continues", () =>
    Effect.gen(function* () {
      const root = yield* folderWith({ "log.txt": text })
      const [firstAnswer, ...others] = answers(0)
      const server = yield* startProvider("chat", [
        ...(firstAnswer === undefined ? [] : [firstAnswer]),
        { status: 429, headers: { "retry-after": "0.4" } },
        ...others,
      ])
      const retry = { attempts: 3, firstWait: 1, longestWait: 1 }
      const began = performance.now()
      const result = yield* Effect.provide(
        Effect.flatMap(Extractions, (extractions) => extractions.run(requestFor(root))),
        port({ root, extractor: yield* extractorOn(server, { retry }) }),
      )
      expect(performance.now() - began).toBeGreaterThan(390)
      expect(server.heard).toHaveLength(2 * chunkCount + 1)
      expect(result).toMatchObject({ facts: chunkCount, calls: 2 * chunkCount })
    }),
  )

  it.live("whose key is refused fails at once, and continues with another", () =>
    Effect.gen(function* () {
      const root = yield* folderWith({ "log.txt": text })
      const server = yield* startProvider("chat", answers(0))
      const refused = yield* Effect.provide(
        Effect.flip(Effect.flatMap(Extractions, (extractions) => extractions.run(requestFor(root)))),
        port({ root, extractor: yield* makeOpenAiExtractor({ apiKey: Redacted.make("sk-wrong"), model: "any", baseUrl: server.url }) }),
      )
      expect(refused).toMatchObject({ _tag: "RunFailed", code: "ExtractionFailed", retryable: false })
      expect(refused.message).toContain("check the API key")
      expect(refused.message).not.toContain("sk-wrong")
      expect(server.heard).toHaveLength(1)
      const again = yield* startProvider("chat", answers(0))
      const result = yield* Effect.provide(
        Effect.flatMap(Extractions, (extractions) => extractions.resume(refused.runId, requestFor(root))),
        port({ root, extractor: yield* extractorOn(again) }),
      )
      expect(result.facts).toBe(chunkCount)
    }),
  )

  it.live("tells later chunks which entities earlier ones named, also after a restart", () =>
    Effect.gen(function* () {
      const root = yield* folderWith({ "log.txt": text })
      const first = yield* startProvider("chat", [...answers(0).slice(0, 4), { status: 401, error: "no" }])
      const failure = yield* Effect.provide(
        Effect.flip(Effect.flatMap(Extractions, (extractions) => extractions.run(requestFor(root)))),
        port({ root, extractor: yield* extractorOn(first) }),
      )
      const known = (heard: Heard | undefined) =>
        [...(heard === undefined ? "" : questionIn(heard).prompt).matchAll(/^\d+: "(Ship\d+)"/gm)].map(([, name]) => name).sort()
      expect(known(first.heard[0])).toEqual([])
      expect(known(first.heard[2])).toEqual(["Ship01", "Ship02"])
      const second = yield* startProvider("chat", answers(2))
      yield* Effect.provide(
        Effect.flatMap(Extractions, (extractions) => extractions.resume(failure.runId, requestFor(root))),
        port({ root, extractor: yield* extractorOn(second) }),
      )
      expect(known(second.heard[0])).toEqual(["Ship01", "Ship02", "Ship11", "Ship12"])
    }),
  )
})
