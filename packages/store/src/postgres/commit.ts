/**
 * The shapes of the commit statement on PostgreSQL, and the choice between them. Each shape stores a whole batch in one statement: half the
 * time and a third of the client's CPU of begin, update, insert, commit. Each returns one row: how many commits it stored, and their
 * positions in the batch.
 *
 * A shape names the columns that its commits need and the form in which they are passed; commitParts.ts makes its statement of them.
 */
import type { Commit, Fence } from "../contract/Commit.ts"
import { instanceColumns } from "../sql/CommitColumns.ts"
import { revisionOf } from "../sql/keys.ts"
import { type CommitColumn, columnValue, type Input, isSeparable, type Positioned, parametersOf } from "./commitInput.ts"
import { commitStatement } from "./commitParts.ts"

/** One statement and its parameters. */
export interface PreparedCommit {
  readonly statement: string
  readonly parameters: ReadonlyArray<unknown>
}

/** Every batch locks its instances in the same order, so that two batches do not deadlock. */
export const inOrder = (commits: ReadonlyArray<Commit>): ReadonlyArray<Positioned> =>
  commits.map((commit, position): Positioned => ({ position, commit })).sort(byName)

const byName = ({ commit: left }: Positioned, { commit: right }: Positioned): number => {
  if (left.machine !== right.machine) return left.machine < right.machine ? -1 : 1
  return left.id < right.id ? -1 : 1
}

interface Shape extends Input {
  /** Whether the shape can store the commit. */
  readonly fits: (commit: Commit) => boolean
  /** The fewest commits that it is faster for. */
  readonly from: number
  /** The most. */
  readonly to?: number
}

/** One event, and no timers looked at. */
const isOneEvent = ({ expected, sequence, at, events, snapshot, commands }: Commit): boolean => {
  const event = events[0]
  if (expected < 0 || events.length !== 1 || event?.dedupeId !== undefined) return false
  return event?.sequence === sequence && event.at === at && snapshot === undefined && commands.length === 0
}

/** An instance that exists, one event, and nothing else: most small batches. */
const isPlain = (commit: Commit): boolean => isOneEvent(commit) && commit.setTimers.length === 0 && commit.clearTimers.length === 0

/** One event, at most one timer that ends and one that begins: a timer fires, or a state with a timer is entered or left. */
const isTimed = (commit: Commit): boolean =>
  isOneEvent(commit) && commit.clearTimers !== "all" && commit.clearTimers.length <= 1 && commit.setTimers.length <= 1

/** It adds one to the sequence of an instance whose events were never rewritten. */
const isNextStep = (commit: Commit): boolean =>
  commit.expected === commit.sequence - 1 && commit.startedAt !== undefined && revisionOf(commit) === 0

const beginsNow = ({ sequence, setTimers }: Commit): boolean => setTimers.length === 0 || setTimers[0]?.entry === sequence

/** Any events of an instance that exists, with or without the ids of their senders, and nothing else. */
const hasOnlyEvents = ({ expected, events, snapshot, commands, setTimers, clearTimers }: Commit): boolean =>
  expected >= 0 &&
  events.length > 0 &&
  snapshot === undefined &&
  commands.length === 0 &&
  setTimers.length === 0 &&
  clearTimers.length === 0

const instance = Object.keys(instanceColumns) as ReadonlyArray<keyof typeof instanceColumns>

/** The columns of an instance that nearly all commits of one machine share. */
const constant = instance.filter((name) => name !== "sequence" && name !== "updated_at" && name !== "tag")

const plain: ReadonlyArray<CommitColumn> = ["machine", "id", "expected", "started_at", "revision", ...instance, "event_tag", "event_body"]

const anyEvents: ReadonlyArray<CommitColumn> = [
  "machine",
  "id",
  "expected",
  "started_at",
  "revision",
  ...instance,
  "event_sequence",
  "event_at",
  "event_tag",
  "event_body",
  "event_dedupe_id",
  "event_delivery",
  "more_events",
  "more_ids",
  "resent",
]

/** What follows from a commit being the next step of an instance without rewritten events. */
const nextStep: Input["derived"] = { expected: (read) => `${read("sequence")} - 1`, revision: () => "0" }

/** From the cheapest on. The figures are µs of PostgreSQL's CPU for each commit. */
const shapes: ReadonlyArray<Shape> = [
  // Without JSON: 2,449/s instead of 1,713/s if each send is awaited.
  { form: "one", each: plain, fits: isPlain, from: 1, to: 1 },
  // 11.2 in batches of 50 against 13.2 for the next; 10.7 against 14.3 in batches of 500. In smaller batches, splitting the columns costs
  // more than parsing the JSON.
  {
    form: "texts",
    each: ["id", "started_at", "sequence", "updated_at", "tag", "event_tag", "event_body"],
    shared: ["machine", ...constant],
    derived: nextStep,
    fits: (commit) => isPlain(commit) && isNextStep(commit),
    from: 16,
  },
  // 16.5 in batches of 50, against 24.3 for the last.
  { form: "rows", each: plain, fits: isPlain, from: 1 },
  // Many timers of one kind that are due at once: 11.2 in batches of 500 against 14.9 for the next; 18.9 against 23.2 in batches of 50.
  {
    form: "arrays",
    each: ["id", "started_at", "sequence", "updated_at", "timer_due"],
    shared: ["machine", "tag", ...constant, "event_tag", "event_body", "ended", "timer_name"],
    derived: { ...nextStep, timer_entry: (read) => read("sequence") },
    fits: (commit) => isTimed(commit) && isNextStep(commit) && beginsNow(commit),
    from: 2,
  },
  // 15 in batches of 500, against 23 for the last; 24 against 33 in batches of 50.
  { form: "rows", each: [...plain, "ended", "timer_name", "timer_entry", "timer_due"], fits: isTimed, from: 1 },
  // For busy instances, which get several events in one commit, and for events of other nodes, which have ids.
  { form: "rows", each: anyEvents, fits: hasOnlyEvents, from: 1 },
]

/**
 * Everything a commit can carry. The first event has columns of its own, and empty parts are not expanded: 22 in batches of 50, 18 in batches
 * of 500. As objects (jsonb_to_recordset) with all events in a list it was about 24, json instead of jsonb about 25; single runs differ by 2.
 */
const full: Input = {
  form: "rows",
  each: [...anyEvents, "origin", "snapshot", "timers", "cleared", "kept", "commands", "lease", "token"],
}

const withFields = <Of extends Input>(input: Of): Of => ({ ...input, each: [...input.each, "fields"] })

/** Chooses the cheapest shape that can store all commits of a batch. A batch in which no indexed value changes has no column for them. */
export const makeShapes = (schema: string): ((ordered: ReadonlyArray<Positioned>) => PreparedCommit) => {
  const [unchanged, indexed] = [chooseShape(schema, shapes, full), chooseShape(schema, shapes.map(withFields), withFields(full))]
  return (ordered) => (ordered.some(({ commit }) => commit.fields !== undefined) ? indexed(ordered) : unchanged(ordered))
}

const chooseShape = (
  schema: string,
  shapes: ReadonlyArray<Shape>,
  full: Input,
): ((ordered: ReadonlyArray<Positioned>) => PreparedCommit) => {
  const fast = shapes.map((shape) => ({
    shape,
    unfenced: commitStatement(schema, shape, false),
    fenced: commitStatement(schema, shape, true),
    parameters: parametersOf(shape),
  }))
  const any = { statement: commitStatement(schema, full, false), parameters: parametersOf(full) }
  return (ordered) => {
    const fence = sharedFence(ordered)
    const found = fence === "several" ? undefined : fast.find(({ shape }) => canStore(shape, ordered))
    if (found === undefined || fence === "several") return { statement: any.statement, parameters: any.parameters(ordered) }
    const parameters = found.parameters(ordered)
    if (fence === undefined) return { statement: found.unfenced, parameters }
    return { statement: found.fenced, parameters: [...parameters, fence.lease, fence.token] }
  }
}

const canStore = (shape: Shape, ordered: ReadonlyArray<Positioned>): boolean => {
  const { form, each, shared = [], fits, from, to = ordered.length } = shape
  if (ordered.length < from || ordered.length > to) return false
  const first = ordered[0]?.commit
  return ordered.every(
    ({ commit }) =>
      fits(commit) &&
      shared.every((name) => first !== undefined && columnValue(name, commit) === columnValue(name, first)) &&
      (form !== "texts" || each.every((name) => isSeparable(columnValue(name, commit)))),
  )
}

/**
 * The one fence of a batch. Commits that a node makes as owner share the fence of its lease. Commits without a fence in the same batch are
 * stored under it as well; if it does not hold, the writer finds no reason of their own for their refusal and retries them without it.
 */
const sharedFence = (ordered: ReadonlyArray<Positioned>): Fence | "several" | undefined => {
  let shared: Fence | undefined
  for (const { commit } of ordered) {
    const { fence } = commit
    if (fence === undefined || fence === shared) continue
    if (shared !== undefined && (fence.lease !== shared.lease || fence.token !== shared.token)) return "several"
    shared = fence
  }
  return shared
}
