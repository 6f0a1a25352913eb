/** `detent command`: requested effects, and what became of them. */

import { CommandNotFailed } from "@detent/workspace/errors"
import * as commands from "@detent/workspace/operations/commands"
import * as instances from "@detent/workspace/operations/instances"
import * as Effect from "effect/Effect"
import { WrongUsage } from "../Failure.ts"
import type { Handler } from "../Handler.ts"
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
      ...(input.instance === undefined ? {} : yield* instances.resolve(input.instance)),
    }
  })

export const list: Handler<"command list"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    const filter = { ...(yield* filterOf(input)), ...(input.status === undefined ? {} : { status: input.status }) }
    const after = input.after === undefined ? undefined : Number(input.after)
    if (after !== undefined && !Number.isSafeInteger(after))
      return yield* new WrongUsage({ problem: `--after ${input.after} is no cursor`, nextStep: "copy it from the end of the page before" })
    const page = yield* commands.list(filter, input.limit, after)
    yield* output.rows(
      page.commands,
      [
        { title: "KEY", of: ({ key }) => key },
        { title: "EFFECT", of: ({ slot }) => slot },
        {
          title: "STATUS",
          of: ({ status }) => (status === "handled" ? "failed, handled" : status),
          looks: (text, row, style) => (row.status === "failed" ? style.red(text) : text),
        },
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
    const force = input.force
    const report = (count: number, refused = 0) =>
      Effect.gen(function* () {
        const given = { count, dryRun, ...(refused === 0 ? {} : { refused }) }
        yield* output.value(given, () => `${counted(count)} ${dryRun ? "would be" : count === 1 ? "is" : "are"} executed again\n`)
        if (refused === 0) return
        yield* output.note(`${counted(refused)} left out: no instance would take the result; --force includes them`)
      })
    if (input.key !== undefined) {
      if (dryRun) yield* isFailed(input.key)
      else yield* commands.retry(input.key, { force })
      yield* report(1)
      if (dryRun) return
    } else {
      const filter = yield* filterOf(input)
      if (Object.keys(filter).length === 0 && !input.all)
        return yield* new WrongUsage({ problem: "which commands?", nextStep: "name a key, --queue, --slot, --instance, or --all" })
      const { count, refused } = yield* commands.retryAll(filter, { dryRun: true, force })
      if (dryRun || count === 0) return yield* report(count, refused)
      yield* agreed(`Execute ${counted(count, "failed ")} again?`)
      yield* report((yield* commands.retryAll(filter, { dryRun: false, force })).count, refused)
    }
    yield* output.note(output.noteStyle.dim("they are executed by `detent dev`, `detent serve` or `detent worker`"))
  }).pipe(Effect.provide(observing(input)))

export const skip: Handler<"command skip"> = (input) =>
  Effect.gen(function* () {
    const output = yield* Output
    yield* commands.get(input.key)
    if (input.reason === undefined && !output.canAsk)
      return yield* new WrongUsage({ problem: "the reason is missing", nextStep: 'say why with --reason "…"' })
    const reason = input.reason ?? (yield* asked("Why? "))
    yield* agreed(`Give up ${input.key}? It is not executed any more.`)
    yield* output.value(yield* commands.skip(input.key, reason), () => `${input.key} skipped: ${reason}\n`)
  }).pipe(Effect.provide(observing(input)))

const counted = (count: number, which = "") => `${count} ${which}${count === 1 ? "command" : "commands"}`

/** What a dry run of a retry would refuse. */
const isFailed = (key: string) =>
  Effect.flatMap(commands.get(key), ({ status }) =>
    status === "failed" ? Effect.void : Effect.fail(new CommandNotFailed({ key, status })),
  )
