/** Which graph is meant: the one that is named, or the only one there is. */
import * as graph from "@detent/workspace/operations/graph"
import * as Effect from "effect/Effect"
import { NothingFound, WrongUsage } from "../Failure.ts"

export const chooseGraph = (given: string | undefined) =>
  Effect.gen(function* () {
    const all = yield* graph.namespaces
    const [first, ...others] = given === undefined ? all : all.filter((one) => one === given)
    if (first === undefined)
      return yield* new NothingFound({
        what: given === undefined ? "graph yet" : `graph ${given}`,
        nextStep: all.length === 0 ? "make one with `detent batch run FOLDER`" : `there are ${all.join(", ")}`,
      })
    if (others.length > 0)
      return yield* new WrongUsage({ problem: "there are several graphs", nextStep: `name one with --namespace: ${all.join(", ")}` })
    return yield* graph.current(first)
  })
