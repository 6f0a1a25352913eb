/** Asks the user: for confirmation before a change that cannot be undone, and for one of several answers. */
import { createInterface } from "node:readline/promises"
import * as Effect from "effect/Effect"
import { NotAllowed } from "../Failure.ts"
import { Output } from "./Output.ts"
import { oneLine } from "./Style.ts"

/** Succeeds if the user confirms, now or with `--yes`. */
export const agreed = (question: string): Effect.Effect<void, NotAllowed, Output> =>
  Effect.gen(function* () {
    const output = yield* Output
    if (output.isAgreed) return
    if (!output.canAsk)
      return yield* new NotAllowed({
        problem: "confirmation is required, and there is no terminal",
        nextStep: `confirm with --yes: ${question}`,
      })
    const answer = yield* asked(`${question} [y/N] `)
    if (!/^y(es)?$/i.test(answer.trim())) return yield* new NotAllowed({ problem: "not confirmed", nextStep: "nothing was changed" })
  })

/** Asks for one of several answers; an empty one is the first. The first, without a question, where there is no terminal. */
export const chosen = <const A extends string>(
  question: string,
  answers: readonly [A, ...ReadonlyArray<A>],
): Effect.Effect<A, never, Output> =>
  Effect.gen(function* () {
    const output = yield* Output
    if (!output.canAsk) return answers[0]
    for (;;) {
      const answer = (yield* asked(`${question} [${answers.join("/")}] (${answers[0]}) `)).trim().toLowerCase()
      const known = answer === "" ? answers[0] : answers.find((one) => one === answer)
      if (known !== undefined) return known
      yield* output.note(`write one of ${answers.join(", ")}, or nothing for ${answers[0]}`)
    }
  })

/** Returns the user's answer. */
export const asked = (question: string): Effect.Effect<string> =>
  Effect.callback((resume) => {
    const lines = createInterface({ input: process.stdin, output: process.stderr })
    const aborting = new AbortController()
    // While the reader waits for a line, it gets Ctrl-C instead of the process.
    lines.on("SIGINT", () => process.kill(process.pid, "SIGINT"))
    lines.question(oneLine(question), { signal: aborting.signal }).then(
      (answer) => {
        lines.close()
        resume(Effect.succeed(answer))
      },
      (error: unknown) => {
        // An interrupt aborts the question, and no fiber waits for the answer then.
        if (!aborting.signal.aborted) resume(Effect.die(error))
      },
    )
    return Effect.sync(() => {
      aborting.abort()
      lines.close()
    })
  })
