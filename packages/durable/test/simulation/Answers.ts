/** Every answer is true, and an event that was answered before another was sent comes before it in the journal. */
import type { Tagged } from "@detent/machine/internal"
import type { Judged } from "./Audit.ts"
import { readerOf } from "./Machines.ts"

/** What came back from one attempt. */
export type Answer =
  | { readonly _tag: "Taken"; readonly from: Tagged; readonly state: Tagged }
  | { readonly _tag: "Refused"; readonly error: { readonly _tag: string; readonly message: string } }
  /** The one that was asked died before it answered. */
  | { readonly _tag: "Silence" }
  | { readonly _tag: "Defect"; readonly defect: string }

export interface Attempt {
  /** Moments count up with all that is sent and answered. */
  readonly begun: number
  ended: number | undefined
  answer: Answer | undefined
}

/** An event that a client sent, perhaps several times under one id. */
export interface Sent {
  readonly machine: string
  readonly id: string
  readonly event: Tagged
  readonly token: string
  readonly dedupeId: string | undefined
  readonly attempts: ReadonlyArray<Attempt>
  /** No client sends it again. */
  readonly settled: boolean
}

export interface Known extends Judged {
  readonly status: string
  /** Up to where the journal was pruned, if it was. */
  readonly pruned: number
}

/** The engine lets an instance go, which says nothing about the instance. */
export const isGivenUp = (message: string): boolean => /the engine was stopped|given up|it was idle|takes no more/.test(message)

/** `NewerVersion`: in a rolling deploy, an older node has the instance for now. */
const passing = new Set(["PersistenceFailed", "LockingFailed", "SequenceConflict", "NewerVersion"])

/** An answer that tells for sure. What the store or a stopped engine failed at may have happened all the same. */
export const isOver = (answer: Answer): boolean => {
  if (answer._tag === "Taken" || answer._tag === "Defect") return true
  if (answer._tag === "Silence") return false
  const { error } = answer
  if (error._tag === "MachineStopped") return !isGivenUp(error.message)
  return !passing.has(error._tag)
}

export const stateText = (machine: string, state: Tagged): string => readerOf(machine).encodeState(state)

/** How often an event was sent, by all clients together. */
export const attemptsOf = (all: ReadonlyArray<Sent>, token: string): number =>
  all.filter((one) => one.token === token).reduce((sum, { attempts }) => sum + attempts.length, 0)

export const judgeAnswers = (
  all: ReadonlyArray<Sent>,
  known: (key: { readonly machine: string; readonly id: string }) => Known | undefined,
): ReadonlyArray<string> => [...all.flatMap((sent) => judgeOne(all, sent, known(sent))), ...judgeOrder(all, known)]

const judgeOne = (all: ReadonlyArray<Sent>, sent: Sent, known: Known | undefined): ReadonlyArray<string> => {
  const name = `${sent.machine} ${sent.id} ${sent.event._tag} ${sent.token}`
  const unanswered = sent.settled ? [] : [`${name} was never answered`]
  const sequence = known?.tokens.get(sent.token)
  const judged = sent.attempts.flatMap(({ answer }): ReadonlyArray<string> => {
    if (answer === undefined || answer._tag === "Silence") return []
    if (answer._tag === "Defect") return [`${name} met a defect: ${answer.defect}`]
    if (answer._tag === "Refused") return judgeRefusal(attemptsOf(all, sent.token), name, answer.error, known, sequence)
    if (known === undefined || sequence === undefined) return [`${name} was accepted and is not journaled`]
    const [from, state] = [stateText(sent.machine, answer.from), stateText(sent.machine, answer.state)]
    // Sent again after a prune, it is answered with the sequence of a later snapshot.
    if (known.pruned > 0 && from === state && known.states.includes(state, sequence)) return []
    if (known.states[sequence] !== state) return [`${name} was answered ${state}, the journal says ${known.states[sequence]}`]
    return known.states[sequence - 1] === from ? [] : [`${name} was answered that it came from ${from}`]
  })
  return [...unanswered, ...judged]
}

const judgeRefusal = (
  attempts: number,
  name: string,
  error: { readonly _tag: string; readonly message: string },
  known: Known | undefined,
  sequence: number | undefined,
): ReadonlyArray<string> => {
  switch (error._tag) {
    case "PersistenceFailed":
    case "NewerVersion":
      return []
    case "MachineStopped":
      if (isGivenUp(error.message)) return []
      if (known?.status === "running") return [`${name} was reported as ended, and it is running: ${error.message}`]
      break
    case "InvalidTransition":
    case "TransitionRefused":
    case "SequenceConflict":
    case "LockingFailed":
      break
    default:
      return [`${name} was refused: ${error._tag} ${error.message}`]
  }
  // A first attempt whose answer was lost may still arrive after a second was refused.
  if (sequence === undefined || attempts > 1) return []
  return [`${name} is journaled at ${sequence}, and its sender got ${error._tag}: ${error.message}`]
}

interface Span {
  readonly token: string
  readonly begun: number
  readonly ended: number
  readonly sequence: number
}

const judgeOrder = (
  all: ReadonlyArray<Sent>,
  known: (key: { readonly machine: string; readonly id: string }) => Known | undefined,
): ReadonlyArray<string> => {
  const instances = new Map<string, Map<string, Span>>()
  for (const { machine, id, token, attempts } of all) {
    const sequence = known({ machine, id })?.tokens.get(token)
    if (sequence === undefined) continue
    const spans = instances.get(`${machine} ${id}`) ?? new Map<string, Span>()
    instances.set(`${machine} ${id}`, spans)
    const before = spans.get(token)
    const ended = attempts.map(({ answer, ended }) => (answer?._tag === "Taken" ? (ended ?? Number.POSITIVE_INFINITY) : Infinity))
    spans.set(token, {
      token,
      sequence,
      begun: Math.min(before?.begun ?? Number.POSITIVE_INFINITY, ...attempts.map(({ begun }) => begun)),
      ended: Math.min(before?.ended ?? Number.POSITIVE_INFINITY, ...ended),
    })
  }
  return [...instances.values()].flatMap((spans) => {
    const byJournal = [...spans.values()].sort((left, right) => left.sequence - right.sequence)
    const problems: Array<string> = []
    // Going back from the end: nothing that comes earlier in the journal may have been sent after one that comes later was answered.
    let earliest: Span | undefined
    for (const span of byJournal.reverse()) {
      if (earliest !== undefined && earliest.ended < span.begun)
        problems.push(`${earliest.token} was accepted before ${span.token} was sent, and comes after it`)
      if (earliest === undefined || span.ended < earliest.ended) earliest = span
    }
    return problems
  })
}
