/** Sorts far more lines than its heap can hold, and says how many there were. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { sortLines } from "../../src/rdf/LineSort.ts"

const lines = Stream.range(0, 399_999).pipe(
  Stream.rechunk(500),
  Stream.map((number) => `${String((number * 7919) % 400_009).padStart(8, "0")} ${"x".repeat(160)}${number}`),
)

Effect.runPromise(Stream.runCount(sortLines(lines, { memory: 2_000_000 }))).then(
  (count) => console.log(`sorted ${count}`),
  (error: unknown) => console.error(error),
)
