/** `detent command`: requested effects and their results. */

import { CommandStatus } from "@detent/api/StoredCommand"
import { RetryPolicy } from "@detent/machine"
import * as operations from "@detent/workspace/operations/commands"
import * as instances from "@detent/workspace/operations/instances"
import { optional } from "@detent/workspace/optional"
import * as Effect from "effect/Effect"
import { WrongUsage } from "../Failure.ts"
import { command, type Option } from "../line/Command.ts"
import { agreed, asked } from "../output/Asking.ts"
import { counted } from "../output/Count.ts"
import { momentOf, momentText } from "../output/Moment.ts"
import { Output } from "../output/Output.ts"
import { pairsText } from "../output/Table.ts"
import { changedHere, checkKey } from "../workspace/Changing.ts"
import { observing } from "../workspace/Opening.ts"
import { keyOption, paging } from "./shared.ts"

interface Chosen {
  readonly queue: string | undefined
  readonly slot: string | undefined
  readonly machine: string | undefined
  readonly instance: string | undefined
  readonly fingerprint: string | undefined
}

const filterOf = ({ queue, slot, machine, instance, fingerprint }: Chosen) =>
  Effect.gen(function* () {
    return { ...optional({ queue, slot, machine, fingerprint }), ...(instance === undefined ? {} : yield* instances.resolve(instance)) }
  })

/** The options of `filterOf`. */
const filterOptions = [
  { name: "queue", kind: "text", value: "NAME", summary: "only commands of this queue" },
  { name: "slot", kind: "text", value: "NAME", summary: "only commands of this effect slot" },
  { name: "machine", kind: "text", value: "NAME", summary: "only commands of instances of this machine" },
  { name: "instance", kind: "text", value: "MACHINE/ID", summary: "only commands of this instance" },
  { name: "fingerprint", kind: "text", value: "CAUSE", summary: "only commands with this cause, as `detent command groups` shows it" },
] as const satisfies ReadonlyArray<Option>

const list = command(
  {
    name: "command list",
    summary: "requested effects: waiting, running, done, failed",
    detail: `A command that fails is tried again. Default: ${RetryPolicy.summary(RetryPolicy.standard)}.`,
    arguments: [],
    options: [
      {
        name: "status",
        kind: "text",
        value: "STATUS",
        choices: CommandStatus.literals,
        summary: "only commands with this status",
      },
      ...filterOptions,
      {
        name: "sequence",
        kind: "integer",
        value: "N",
        minimum: 0,
        summary: "with --instance: only commands that event number N requested",
      },
      { name: "latest", kind: "flag", summary: "with --instance: the latest commands instead of the first" },
      { name: "before", kind: "integer", value: "N", minimum: 1, summary: "with --latest: only commands before command number N" },
      {
        name: "enqueued-after",
        kind: "text",
        value: "TIME",
        summary: "only commands requested after this time, such as 2026-11-16T09:30:00Z",
      },
      { name: "enqueued-before", kind: "text", value: "TIME", summary: "only commands requested before this time" },
      ...paging,
    ],
    examples: [{ line: "detent command list --status failed", says: "the dead letters" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const enqueuedAfter = yield* momentOf("enqueued-after", input["enqueued-after"])
      const enqueuedBefore = yield* momentOf("enqueued-before", input["enqueued-before"])
      const filter = { ...(yield* filterOf(input)), ...optional({ status: input.status, enqueuedAfter, enqueuedBefore }) }
      const after = input.after === undefined ? undefined : Number(input.after)
      if (after !== undefined && !Number.isSafeInteger(after))
        return yield* new WrongUsage({
          problem: `--after ${input.after} is not a cursor`,
          nextStep: "copy it from the end of the previous page",
        })
      const isOfInstance = input.sequence !== undefined || input.before !== undefined || input.latest
      if (isOfInstance) yield* refuseWithLatest(input)
      const page: Listed = isOfInstance ? yield* latestPage(filter, input) : yield* operations.list(filter, input.limit, after)
      yield* output.rows(
        page.commands,
        [
          { title: "KEY", of: ({ key }) => key },
          { title: "EFFECT", of: ({ slot }) => slot },
          {
            title: "STATUS",
            of: ({ status }) => statusText(status),
            looks: (text, row, style) => (row.status === "failed" ? style.red(text) : text),
          },
          { title: "TRIES", of: ({ attempts, round }) => (round === undefined ? attempts : `${attempts}, retry ${round}`) },
          { title: "REQUESTED", of: ({ enqueuedAt }) => momentText(enqueuedAt) },
          { title: "PROBLEM", of: ({ problem }) => problem ?? "" },
          { title: "EARLIER PROBLEMS", of: ({ errors = [], problem }) => earlierText(errors, problem) },
        ],
        input.status === undefined ? "no commands" : `no command is ${input.status}`,
      )
      if (page.scanned !== undefined) yield* output.note(`the page ended after ${page.scanned} examined commands`)
      if (page.next !== undefined) yield* output.note(`more with --${isOfInstance ? "before" : "after"} ${page.next}`)
    }).pipe(Effect.provide(observing(input))),
)

type Listed = Effect.Success<ReturnType<typeof operations.list>>

/** Selects commands of one instance, by the index of the instance or of the event. */
interface OfInstance {
  readonly sequence: number | undefined
  readonly before: number | undefined
  readonly limit: number
}

const latestPage = (
  { machine = "", id = "" }: { readonly machine?: string; readonly id?: string },
  { sequence, before, limit }: OfInstance,
) => instances.commands({ machine, id }, { sequence, before, limit })

const notWithLatest = ["status", "queue", "slot", "machine", "fingerprint", "enqueued-after", "enqueued-before", "after"] as const

const refuseWithLatest = (
  input: { readonly instance: string | undefined } & Readonly<Record<(typeof notWithLatest)[number], string | undefined>>,
) => {
  if (input.instance === undefined)
    return Effect.fail(
      new WrongUsage({ problem: "--sequence, --latest and --before need an instance", nextStep: "name it with --instance" }),
    )
  const other = notWithLatest.find((name) => input[name] !== undefined)
  return other === undefined
    ? Effect.void
    : Effect.fail(
        new WrongUsage({
          problem: `--${other} cannot be combined with --sequence, --latest and --before`,
          nextStep: `remove --${other}`,
        }),
      )
}

const groups = command(
  {
    name: "command groups",
    summary: "dead letters by cause, largest group first",
    detail: "Commands of one queue and effect slot whose problems differ only in numbers, ids and quoted words form one group.",
    arguments: [],
    options: [
      {
        name: "status",
        kind: "text",
        value: "STATUS",
        choices: CommandStatus.literals,
        default: "failed",
        summary: "commands that have a problem and this status",
      },
      { name: "queue", kind: "text", value: "NAME", summary: "only commands of this queue" },
      { name: "slot", kind: "text", value: "NAME", summary: "only commands of this effect slot" },
      { name: "machine", kind: "text", value: "NAME", summary: "only commands of instances of this machine" },
    ],
    examples: [
      { line: "detent command groups", says: "each cause, with the number of its commands" },
      { line: "detent command retry --fingerprint 3f9c2a71b0d4", says: "then retry all commands of one cause" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { status, queue, slot, machine } = input
      const found = yield* operations.groups({ status, ...optional({ queue, slot, machine }) })
      yield* output.rows(
        found.groups,
        [
          { title: "CAUSE", of: ({ fingerprint }) => fingerprint },
          { title: "COMMANDS", of: ({ count }) => count },
          { title: "EFFECT", of: (one) => one.slot },
          { title: "QUEUE", of: (one) => one.queue },
          { title: "FIRST", of: ({ firstAt }) => momentText(firstAt) },
          { title: "LAST", of: ({ lastAt }) => momentText(lastAt) },
          { title: "PROBLEM", of: ({ problem }) => problem },
        ],
        `no command is ${status} with a problem`,
      )
      if (found.scanned !== undefined) yield* output.note(`only the first ${found.scanned} commands were examined`)
    }).pipe(Effect.provide(observing(input))),
)

const show = command(
  {
    name: "command show",
    summary: "one command: its status, attempts and problems",
    detail: "Only --json shows its parameters; sensitive parameters are hidden.",
    arguments: [{ name: "command", summary: "the command's key, as `detent command list` shows it" }],
    options: [],
    examples: [{ line: "detent command show order/order-7/2/0", says: "why each attempt failed" }],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const found = yield* operations.get(input.command)
      const { key, slot, queue, machine, id, status, attempts, round, problem, errors = [], runAt, enqueuedAt, finishedAt, worker } = found
      yield* output.value(found, () =>
        pairsText(
          [
            ["command", key],
            ["effect", slot],
            ["queue", queue],
            ["instance", machine === undefined ? undefined : `${machine}/${id}`],
            ["status", statusText(status), (text) => (status === "failed" ? output.style.red(text) : text)],
            ["tries", round === undefined ? attempts : `${attempts}, retry ${round}`],
            ["problem", problem],
            ["earlier", earlierText(errors, problem) || undefined],
            ["worker", worker],
            ["requested", momentText(enqueuedAt)],
            ["due", status === "pending" ? momentText(runAt) : undefined],
            ["finished", finishedAt === undefined ? undefined : momentText(finishedAt)],
          ],
          output.style,
        ),
      )
    }).pipe(Effect.provide(observing(input))),
)

/** A failure that the instance has handled is not a dead letter. */
const statusText = (status: string): string => (status === "handled" ? "failed, handled" : status)

const whichStep = "name a key, --queue, --slot, --machine, --instance, --fingerprint, or --all"

const retry = command(
  {
    name: "command retry",
    summary: "execute failed commands again",
    arguments: [{ name: "command", summary: "the command's key; or choose several with the options", optional: true }],
    options: [
      ...filterOptions,
      { name: "all", kind: "flag", summary: "all failed commands" },
      { name: "force", kind: "flag", summary: "also commands whose instance has ended or would refuse the result" },
      { name: "dry-run", kind: "flag", summary: "only count the commands" },
      keyOption,
    ],
    examples: [
      { line: "detent command retry order/order-7/2/0", says: "one command, by its key" },
      { line: "detent command retry --slot sendMail --dry-run", says: "how many commands there are" },
      { line: "detent command retry --fingerprint 3f9c2a71b0d4 --yes", says: "all commands of one cause" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const dryRun = input["dry-run"]
      const force = input.force
      const report = (count: number, refused = 0) =>
        Effect.gen(function* () {
          const given = { count, dryRun, ...(refused === 0 ? {} : { refused }) }
          yield* output.value(
            given,
            () => `${counted(count, "command")} ${dryRun ? "would be" : count === 1 ? "is" : "are"} executed again\n`,
          )
          if (refused === 0) return
          yield* output.note(`${counted(refused, "command")} not retried, since no instance would take the result; --force includes them`)
        })
      if (input.command !== undefined) {
        yield* checkKey(input.key)
        yield* operations.retryOnce({ command: input.command, force, dryRun, key: input.key })
        yield* report(1)
        if (dryRun) return
      } else {
        const filter = yield* filterOf(input)
        if (Object.keys(filter).length === 0 && !input.all)
          return yield* new WrongUsage({ problem: "which commands?", nextStep: whichStep })
        const { count, refused } = yield* operations.retryAll(filter, { dryRun: true, force })
        if (dryRun || (count === 0 && input.key === undefined)) return yield* report(count, refused)
        yield* agreed(`Execute ${counted(count, "failed command")} again?`)
        const json = { ...filter, ...(force ? { force } : {}) }
        const change = { operation: "commands.retryAll", params: {}, json, key: input.key }
        yield* report((yield* changedHere(change, operations.retryAll(filter, { dryRun: false, force }))).count, refused)
      }
      yield* output.note(output.noteStyle.dim("`detent dev`, `detent serve` or `detent worker` executes them"))
    }).pipe(Effect.provide(observing(input))),
)

const skip = command(
  {
    name: "command skip",
    summary: "skip commands, and store the reason",
    arguments: [{ name: "command", summary: "the command's key; or choose several with the options", optional: true }],
    options: [
      { name: "reason", kind: "text", value: "TEXT", summary: "the reason; on a terminal, the command asks for it" },
      ...filterOptions,
      {
        name: "status",
        kind: "text",
        value: "STATUS",
        choices: ["failed", "pending"],
        default: "failed",
        summary: "without a key: skip failed or pending commands",
      },
      { name: "all", kind: "flag", summary: "all commands with this status" },
      { name: "dry-run", kind: "flag", summary: "only count the commands" },
      keyOption,
    ],
    examples: [
      { line: 'detent command skip order/order-7/2/0 --reason "refunded by hand" --yes', says: "the command will not be executed" },
      { line: "detent command skip --fingerprint 3f9c2a71b0d4 --dry-run", says: "how many commands have one cause" },
    ],
  },
  (input) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { command: key, status, "dry-run": dryRun } = input
      const chosen = yield* filterOf(input)
      const filter = { ...chosen, status }
      const isMany = key === undefined
      if (isMany && Object.keys(chosen).length === 0 && !input.all)
        return yield* new WrongUsage({ problem: "which commands?", nextStep: whichStep })
      if (!isMany && (input.all || Object.keys(chosen).length > 0))
        return yield* new WrongUsage({
          problem: `${key} names one command, and the options choose several`,
          nextStep: "name a key, or choose by options, not both",
        })
      const standing = isMany ? undefined : yield* operations.get(key)
      const { count } = standing === undefined ? yield* operations.skipAll({ filter, reason: "", dryRun: true }) : countOf(standing)
      const report = (given: number) =>
        output.value({ count: given, dryRun }, () => `${counted(given, "command")} ${dryRun ? "would be " : ""}skipped\n`)
      if (dryRun || (isMany && count === 0 && input.key === undefined)) return yield* report(count)
      if (input.reason === undefined && !output.canAsk)
        return yield* new WrongUsage({ problem: "the reason is missing", nextStep: 'give it with --reason "…"' })
      const reason = input.reason ?? (yield* asked("Why? "))
      if (isMany) {
        yield* agreed(`Skip ${counted(count, "command")}? They will not be executed.`)
        const change = { operation: "commands.skipAll", params: {}, json: { filter, reason }, key: input.key }
        return yield* report((yield* changedHere(change, operations.skipAll({ filter, reason }))).count)
      }
      yield* agreed(`Skip ${key}? It will not be executed.`)
      const change = { operation: "commands.skip", params: { key }, json: { reason }, key: input.key }
      yield* output.value(yield* changedHere(change, operations.skip(key, reason)), () => `${key} skipped: ${reason}\n`)
    }).pipe(Effect.provide(observing(input))),
)

/** Only a failed or pending command can be skipped. */
const countOf = ({ status }: { readonly status: string }) => ({ count: status === "failed" || status === "pending" ? 1 : 0 })

/** The errors of executions before the last one. */
const earlierText = (errors: ReadonlyArray<{ readonly attempt: number; readonly problem: string }>, last: string | undefined): string =>
  errors
    .slice(0, errors.at(-1)?.problem === last ? -1 : undefined)
    .map(({ attempt, problem }) => `try ${attempt}: ${problem}`)
    .join("; ")

export const noun = { name: "command", summary: "requested effects and dead letters" }

export const commands = [list, groups, show, retry, skip]
