/** `detent command`: requested effects, and what became of them. */
import { Commands, DeadLetters } from "@detent/durable"
import { commandView } from "@detent/server/StoredCommand"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { NotAllowed, NothingFound, WrongUsage } from "../Failure.ts"
import type { Handler } from "../Handler.ts"
import { findKey } from "../instance/Finding.ts"
import { agreed, asked } from "../output/Asking.ts"
import { momentText } from "../output/Moment.ts"
import { Output } from "../output/Output.ts"
import { observing } from "../workspace/Opening.ts"

const filterOf = (input: {
  readonly queue: string | undefined
  readonly slot: string | undefined
  readonly instance: string | undefined
}) =>
  Effect.gen(function* () {
    return {
      ...(input.queue === undefined ? {} : { queue: input.queue }),
      ...(input.slot === undefined ? {} : { slot: input.slot }),
      ...(input.instance === undefined ? {} : yield* findKey(input.instance)),
    }
  })

export const list: Handler<"command list"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const commands = yield* Commands
    const filter = { ...(yield* filterOf(input)), ...(input.status === undefined ? {} : { status: input.status }) }
    const after = input.after === undefined ? undefined : Number(input.after)
    if (after !== undefined && !Number.isSafeInteger(after))
      return yield* new WrongUsage({ problem: `--after ${input.after} is no cursor`, nextStep: "copy it from the end of the page before" })
    const page = yield* commands.list(filter, Math.min(1000, Math.max(1, input.limit)), after)
    yield* output.rows(
      page.commands.map(commandView),
      [
        { title: "KEY", of: ({ key }) => key },
        { title: "EFFECT", of: ({ slot }) => slot },
        { title: "STATUS", of: ({ status }) => status, looks: (text, row, style) => (row.status === "failed" ? style.red(text) : text) },
        { title: "TRIES", of: ({ attempts, round }) => (round === undefined ? attempts : `${attempts}, retry ${round}`) },
        { title: "REQUESTED", of: ({ enqueuedAt }) => momentText(enqueuedAt) },
        { title: "PROBLEM", of: ({ problem }) => problem ?? "" },
      ],
      "no commands",
    )
    if (page.next !== undefined) yield* output.note(`more with --after ${page.next}`)
  }).pipe(Effect.provide(observing(input)))

export const retry: Handler<"command retry"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const dryRun = input["dry-run"]
    const report = (count: number) =>
      output.value({ count, dryRun }, () => `${counted(count)} ${dryRun ? "would be" : count === 1 ? "is" : "are"} executed again\n`)
    if (input.key !== undefined) {
      const { status } = yield* found(input.key)
      if (status !== "failed") return yield* notPossible(input.key, status, "only failed ones can be retried")
      if (dryRun) return yield* report(1)
      yield* DeadLetters.retry(input.key)
      yield* report(1)
    } else {
      const filter = yield* filterOf(input)
      if (Object.keys(filter).length === 0 && !input.all)
        return yield* new WrongUsage({ problem: "which commands?", nextStep: "name a key, --queue, --slot, --instance, or --all" })
      const count = yield* DeadLetters.retryAll(filter, { dryRun: true })
      if (dryRun || count === 0) return yield* report(count)
      yield* agreed(`Execute ${counted(count, "failed ")} again?`)
      yield* report(yield* DeadLetters.retryAll(filter))
    }
    yield* output.note(output.noteStyle.dim("they are executed by `detent dev`, `detent serve` or `detent worker`"))
  }).pipe(Effect.provide(observing(input)))

export const skip: Handler<"command skip"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const { status } = yield* found(input.key)
    if (status !== "failed" && status !== "pending")
      return yield* notPossible(input.key, status, "only failed and pending ones can be skipped")
    if (input.reason === undefined && !output.canAsk)
      return yield* new WrongUsage({ problem: "the reason is missing", nextStep: 'say why with --reason "…"' })
    const reason = input.reason ?? (yield* asked("Why? "))
    yield* agreed(`Give up ${input.key}? It is not executed any more.`)
    if (!(yield* DeadLetters.skip(input.key, reason))) return yield* notPossible(input.key, "being executed", "wait for its end")
    yield* output.value(commandView(yield* found(input.key)), () => `${input.key} skipped: ${reason}\n`)
  }).pipe(Effect.provide(observing(input)))

const counted = (count: number, which = "") => `${count} ${which}${count === 1 ? "command" : "commands"}`

const found = (key: string) =>
  Effect.flatMap(
    DeadLetters.get(key),
    Option.match({
      onNone: () => Effect.fail(new NothingFound({ what: `command ${key}`, nextStep: "see `detent command list`" })),
      onSome: Effect.succeed,
    }),
  )

const notPossible = (key: string, status: string, nextStep: string) =>
  Effect.fail(new NotAllowed({ problem: `command ${key} is ${status}`, nextStep }))
