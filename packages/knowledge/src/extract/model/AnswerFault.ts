/** Answers that came, and were billed, but cannot be used. */
import * as Result from "effect/Result"
import { ExtractionFailed } from "../ExtractionFailed.ts"
import type { Answered } from "./CallGuard.ts"
import type { ModelRequest } from "./ModelClient.ts"
import { estimateTokens } from "./UsageCount.ts"

export const refused = (extractor: string, said: string): ExtractionFailed =>
  new ExtractionFailed({ extractor, reason: "Refused", retryable: false, detail: said.slice(0, 200) || "the model declined to answer" })

/** The answer did not fit: asking again would end in the same place. */
export const cutOff = (extractor: string): ExtractionFailed =>
  new ExtractionFailed({
    extractor,
    reason: "TooLong",
    retryable: false,
    detail: "the answer was cut off at the limit of output tokens; make the chunks smaller or raise the limit",
  })

/** Something else answered than was called. What it cost, nobody knows. */
export const notAnAnswer = (extractor: string, request: ModelRequest, raw: unknown): Answered<string> => ({
  tokens: { inputTokens: estimateTokens(request.system + request.prompt), outputTokens: 0 },
  answer: Result.fail(
    new ExtractionFailed({
      extractor,
      reason: "Malformed",
      retryable: true,
      detail: `what came back is no answer of this API: ${JSON.stringify(raw)?.slice(0, 200)}; check the base URL`,
    }),
  ),
})
