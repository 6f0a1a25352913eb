/** Chooses the graph that the user names, or the only graph; and the version that the user names, or the current version. */
import { ContentHash } from "@detent/blobs"
import * as graph from "@detent/workspace/operations/graph"
import * as explore from "@detent/workspace/operations/graphExplore"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { NothingFound, WrongUsage } from "../Failure.ts"

/** A version as `detent graph versions` shows it. */
export const versionIn = (option: string, text: string | undefined): Effect.Effect<ContentHash | undefined, WrongUsage> => {
  if (text === undefined) return Effect.undefined
  const version = Schema.decodeUnknownOption(ContentHash)(text)
  return Option.isSome(version)
    ? Effect.succeed(version.value)
    : Effect.fail(new WrongUsage({ problem: `${option} ${text} is not a version`, nextStep: "see `detent graph versions`" }))
}

export const chooseVersion = (input: { readonly namespace: string | undefined; readonly version: string | undefined }) =>
  Effect.gen(function* () {
    const version = yield* versionIn("--version", input.version)
    return yield* explore.versionOf((yield* chooseGraph(input.namespace)).namespace, version)
  })

export const chooseGraph = (given: string | undefined) =>
  Effect.gen(function* () {
    const all = yield* graph.namespaces
    const [first, ...others] = given === undefined ? all : all.filter((one) => one === given)
    if (first === undefined)
      return yield* new NothingFound({
        what: given === undefined ? "graph yet" : `graph ${given}`,
        nextStep: all.length === 0 ? "create one with `detent batch run FOLDER`" : `there are ${all.join(", ")}`,
      })
    if (others.length > 0)
      return yield* new WrongUsage({ problem: "there are several graphs", nextStep: `name one with --namespace: ${all.join(", ")}` })
    return yield* graph.current(first)
  })
