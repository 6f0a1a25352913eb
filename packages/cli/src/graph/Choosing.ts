/** Which graph is meant: the one that is named, or the only one there is. */
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { CanonicalGraph, Namespace } from "@detent/knowledge"
import { Workspace } from "@detent/workspace/Workspace"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { NothingFound, WrongUsage } from "../Failure.ts"

export const namespaces = Effect.map(Workspace, ({ data }): ReadonlyArray<Namespace> => {
  const folder = join(data, "canonical")
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter(Schema.is(Namespace))
    .filter((name) => existsSync(join(folder, name, "current.json")))
    .sort()
})

export const currentGraph = (given: string | undefined) =>
  Effect.gen(function* () {
    const all = yield* namespaces
    const [first, ...others] = given === undefined ? all : all.filter((one) => one === given)
    if (first === undefined)
      return yield* new NothingFound({
        what: given === undefined ? "graph yet" : `graph ${given}`,
        nextStep: all.length === 0 ? "make one with `detent batch run FOLDER`" : `there are ${all.join(", ")}`,
      })
    if (others.length > 0)
      return yield* new WrongUsage({ problem: "there are several graphs", nextStep: `name one with --namespace: ${all.join(", ")}` })
    const version = yield* Effect.flatMap(CanonicalGraph.CanonicalGraph, (graph) => graph.current(first))
    if (Option.isNone(version))
      return yield* new NothingFound({ what: `graph ${first}`, nextStep: "make one with `detent batch run FOLDER`" })
    return version.value
  })
