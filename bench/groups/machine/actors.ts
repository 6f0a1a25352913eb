/** Ten thousand idle live orders: the heap of each, and the time to create it. */
import type { Part } from "../../measure/Group.ts"
import { inTurns, runNode } from "../../measure/Processes.ts"
import { type Table, times } from "../../measure/Table.ts"

const contestants = { detent: "detent.ts", "@xstate/store": "store.mts", robot3: "robot.mts", xstate: "xstate.mts" }

export const actors: Part = async ({ quick }) => {
  const program = new URL("./actors/population.ts", import.meta.url).pathname
  const runs = Object.entries(contestants).map(([name, file]) => [name, () => runNode(["--expose-gc", program, file])] as const)
  const results = await inTurns(Object.fromEntries(runs), quick ? 3 : 9)
  const value = (name: keyof typeof contestants, key: string) => results[name]?.[key] ?? Number.NaN
  const table: Table = {
    title: "10,000 live idle orders, each contestant in a process of its own",
    columns: ["", "heap bytes each", "outside the heap", "created, ns each", "detent creates faster by"],
    rows: Object.entries(results).map(([name, result]) => [
      name,
      (result["heapBytes"] ?? Number.NaN).toFixed(0),
      (result["externalBytes"] ?? Number.NaN).toFixed(0),
      (result["createNanoseconds"] ?? Number.NaN).toFixed(0),
      times((result["createNanoseconds"] ?? Number.NaN) / value("detent", "createNanoseconds")),
    ]),
    notes: ["Heap after a full collection; detent's actors have ids and are found by them in an actor system."],
  }
  return {
    tables: [table],
    figures: {
      "actor.heapBytes": value("detent", "heapBytes"),
      "actor.heapBytes.xstate": value("xstate", "heapBytes"),
      "actor.heapVsXstate": value("detent", "heapBytes") / value("xstate", "heapBytes"),
      "actor.createVsXstate": value("xstate", "createNanoseconds") / value("detent", "createNanoseconds"),
      "actor.createNanoseconds": value("detent", "createNanoseconds"),
    },
  }
}
