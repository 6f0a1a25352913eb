/** The extractors that take part: the built-in one, and a model when the environment names one. */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as BuiltIn from "../src/extract/builtin/BuiltIn.ts"
import type { RuleGroup } from "../src/extract/builtin/Prediction.ts"
import { anthropicLayer, openAiLayer } from "../src/extract/model/ModelExtractor.ts"
import type { Contestant } from "./Evaluation.ts"

export const builtIn: Contestant = {
  name: BuiltIn.builtInName,
  layer: (_, examples) => BuiltIn.layer({ examples }),
  concurrency: 1,
  learns: true,
}

/** The built-in extractor without a group of its rules. */
export const builtInWithout = (group: RuleGroup): Contestant => ({
  name: `without ${group}`,
  layer: (_, examples) => BuiltIn.layer({ examples, without: [group] }),
  concurrency: 1,
})

/** `EVAL_MODEL` names something that cannot be asked. */
export class ContestantError extends Schema.TaggedError<ContestantError>()("ContestantError", {
  model: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `EVAL_MODEL is ${this.model}: ${this.problem}`
  }
}

export const fromEnvironment: Effect.Effect<ReadonlyArray<Contestant>, ContestantError | Config.ConfigError> = Effect.gen(function* () {
  const named = yield* Config.option(Config.NonEmptyString("EVAL_MODEL"))
  if (Option.isNone(named)) return []
  const [provider, ...rest] = named.value.split("/")
  const model = rest.join("/")
  if ((provider !== "anthropic" && provider !== "openai") || model === "") {
    return yield* new ContestantError({ model: named.value, problem: "write anthropic/MODEL or openai/MODEL" })
  }
  const prefix = provider === "anthropic" ? "ANTHROPIC" : "OPENAI"
  const apiKey = yield* Config.Redacted(`${prefix}_API_KEY`).pipe(
    Effect.mapError(() => new ContestantError({ model: named.value, problem: `set ${prefix}_API_KEY as well` })),
  )
  const baseUrl = Option.getOrUndefined(yield* Config.option(Config.NonEmptyString(`${prefix}_BASE_URL`)))
  const options = { apiKey, model, ...(baseUrl === undefined ? {} : { baseUrl }) }
  const layer = provider === "anthropic" ? anthropicLayer(options) : openAiLayer(options)
  return [{ name: named.value, layer: () => layer, concurrency: 4 }]
})
