import * as Effect from "effect/Effect"
import { command } from "../line/Command.ts"
import { type Listening, listenOptions, serving } from "../serving/Serving.ts"
import { type Place, workingOnAll, workingOnDemo } from "../workspace/Opening.ts"

export default command(
  {
    name: "dev",
    serves: true,
    summary: "server and workers in one process, on an embedded database",
    arguments: [],
    options: [{ name: "demo", kind: "flag", summary: "load sample documents and uploads at the first start" }, ...listenOptions],
    examples: [
      { line: "detent dev --demo", says: "sample data within seconds" },
      { line: "detent dev --port 0 --data try", says: "a free port, and a separate data folder" },
    ],
  },
  (input) => (input.demo ? devWithDemo(input) : serving(input, "work", workingOnAll(input), Effect.void)),
)

/** The demo turns knowledge and uploads on. Their code is loaded on demand, so that no other command waits for it. */
const devWithDemo = (input: Listening & Place) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { demoFolder, loadDemo, sampleShop } = yield* Effect.promise(() => import("../serving/Demo.ts"))
      return yield* serving(input, "work", workingOnDemo(input, [demoFolder], yield* sampleShop(input.data)), loadDemo)
    }),
  )
