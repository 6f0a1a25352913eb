import * as instances from "@detent/workspace/operations/instances"
import { optional } from "@detent/workspace/optional"
import * as Effect from "effect/Effect"
import type { Option } from "../../line/Command.ts"

interface Chosen {
  readonly queue: string | undefined
  readonly slot: string | undefined
  readonly machine: string | undefined
  readonly instance: string | undefined
  readonly fingerprint: string | undefined
}

export const filterOf = ({ queue, slot, machine, instance, fingerprint }: Chosen) =>
  Effect.gen(function* () {
    return { ...optional({ queue, slot, machine, fingerprint }), ...(instance === undefined ? {} : yield* instances.resolve(instance)) }
  })

/** The options of `filterOf`. */
export const filterOptions = [
  { name: "queue", kind: "text", value: "NAME", summary: "only commands of this queue" },
  { name: "slot", kind: "text", value: "NAME", summary: "only commands of this effect slot" },
  { name: "machine", kind: "text", value: "NAME", summary: "only commands of instances of this machine" },
  { name: "instance", kind: "text", value: "MACHINE/ID", summary: "only commands of this instance" },
  { name: "fingerprint", kind: "text", value: "CAUSE", summary: "only commands with this cause, as `detent command groups` shows it" },
] as const satisfies ReadonlyArray<Option>

/** A failure that the instance has handled is not a dead letter. */
export const statusText = (status: string): string => (status === "handled" ? "failed, handled" : status)

export const whichStep = "name a key, --queue, --slot, --machine, --instance, --fingerprint, or --all"

/** The errors of executions before the last one. */
export const earlierText = (
  errors: ReadonlyArray<{ readonly attempt: number; readonly problem: string }>,
  last: string | undefined,
): string =>
  errors
    .slice(0, errors.at(-1)?.problem === last ? -1 : undefined)
    .map(({ attempt, problem }) => `try ${attempt}: ${problem}`)
    .join("; ")
