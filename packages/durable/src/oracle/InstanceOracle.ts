/**
 * Judges the journal of one instance by other code. Three things are followed side by side, event by event:
 *
 * - the old code, as it was: its decisions with the recorded answers of guards;
 * - the new code, asked again: every decision with its hooks, timers and guards. The first decision that differs is the verdict;
 * - how the instance opens under the new code: from its snapshot, with the recorded answers, as a replay does it.
 *
 * No effect, no hook's Effect and no work runs.
 */
import { ActionFailed, type Decision, type Taken } from "@detent/machine"
import { begin, decide, redecide, replay, type Tagged } from "@detent/machine/internal"
import type { EventRecord } from "@detent/store"
import type { ReadJournal } from "@detent/store/internal"
import type { EventBody } from "../machine/Codec.ts"
import { readOrigin } from "../machine/Replay.ts"
import { decodeSnapshot } from "../machine/SnapshotBody.ts"
import { beginningChanges, decisionChanges, isEqual, type Side, stateChanges } from "./Difference.ts"
import { PastAgain } from "./PastAgain.ts"
import type { Probes } from "./Probes.ts"
import { type Change, type DecisionChange, type Judgement, same, type Verdict } from "./Verdict.ts"

type AnyDecision = Decision<Tagged, Tagged>
type AnyTaken = Taken<Tagged, Tagged>

/** The code to judge by. */
export interface Question {
  /** The code that the instances ran with until now. Absent: they are compared with what the store has of them. */
  readonly before: Side | undefined
  readonly after: Side
  /** Asks also how the instance would have ended, with its timers until this time. Milliseconds since 1970. */
  readonly whatIf: number | undefined
  /** Events to decide in the states of instances that have not received them. Shared by the journals of a range. */
  readonly probes: Probes
}

interface Opening {
  readonly state: Tagged
  readonly held: { readonly sequence: number; readonly problem: string } | undefined
}

export class InstanceOracle {
  readonly #journal: ReadJournal
  readonly #after: Side
  /** Undefined where there is no old code, or where it cannot replay this journal itself. */
  #before: Side | undefined
  /** The state of the old code. */
  #old: Tagged | undefined
  /** The state of the new code, asked again. */
  #now: Tagged | undefined
  #opening: Opening | undefined
  #sequence: number
  #decision: DecisionChange | undefined
  /** Whether the old and the new code have gone different ways: their decisions are no longer compared. */
  #isApart = false
  #again: PastAgain | undefined

  readonly #probes: Probes
  readonly #probesAll: boolean
  /** The first event that has not come and that the codes would decide differently. */
  #probe: DecisionChange | undefined

  constructor({ before, after, whatIf, probes }: Question, journal: ReadJournal) {
    this.#journal = journal
    this.#probes = probes
    this.#probesAll = before !== undefined && probes.probesAll
    this.#after = after
    this.#before = before
    const { record, snapshot, origin } = journal
    const opens = this.#beginOpening()
    this.#opening = opens
    const originAfter = origin === undefined ? undefined : attempt(() => readOrigin(after.codec, origin))
    const originBefore = before === undefined || origin === undefined ? undefined : attempt(() => readOrigin(before.codec, origin))
    const asks = before !== undefined || whatIf !== undefined
    // With nothing to compare with, only how the instance opens counts, and no guard is asked.
    this.#isApart = !asks
    if (asks && originAfter !== undefined && (before === undefined || originBefore !== undefined)) {
      this.#sequence = 0
      this.#now = originAfter
      this.#old = originBefore
    } else {
      this.#sequence = snapshot?.sequence ?? 0
      this.#now = opens.held === undefined ? opens.state : undefined
      this.#old = before === undefined || snapshot === undefined ? undefined : attempt(() => stateIn(before, snapshot))
    }
    if (this.#old === undefined) this.#before = undefined
    if (whatIf !== undefined && this.#now !== undefined) this.#again = new PastAgain(after, whatIf)
    if (this.#sequence === 0) this.#beginBoth(record.startedAt)
    if (this.#probesAll) this.#tryOthers(record.startedAt)
  }

  /** The sequence number of the last event that was judged. */
  get sequence(): number {
    return this.#sequence
  }

  #beginOpening(): Opening {
    const { snapshot, origin } = this.#journal
    try {
      if (snapshot !== undefined) return { state: stateIn(this.#after, snapshot), held: undefined }
      if (origin === undefined) {
        const { status, reason } = this.#journal.record
        return unopened(status === "held" && reason !== undefined ? reason : "its first events were pruned, and it has no snapshot")
      }
      return { state: readOrigin(this.#after.codec, origin), held: undefined }
    } catch (cause) {
      return unopened(textOf(cause), snapshot?.sequence ?? 0)
    }
  }

  /** Entering the first state requests effects and sets timers too. What an automatic transition led to counts as the first state. */
  #beginBoth(at: number) {
    const [before, old, now] = [this.#before, this.#old, this.#now]
    if (now === undefined) return
    const begun = begin(this.#after.compiled, now, at)
    if (begun._tag === "Beginning") this.#again?.begin(begun, at)
    if (before === undefined || old === undefined) return
    const began = begin(before.compiled, old, at)
    if (began._tag !== "Beginning") return
    if (begun._tag !== "Beginning") {
      this.#note(0, "(start)", old, [{ path: "outcome", before: `begins in ${old._tag}`, after: `refused: ${begun.error.message}` }])
      return
    }
    const changes = beginningChanges(before, began, this.#after, begun)
    if (changes.length > 0) this.#note(0, "(start)", old, changes)
    if (!isEqual(begun.state._tag, began.state._tag) || changes.some(({ path }) => isOfCourse(path))) this.#part(begun.state)
  }

  /** Judges the next event. Events that are judged already are left out. */
  event(record: EventRecord) {
    if (record.sequence <= this.#sequence) return
    if (record.sequence !== this.#sequence + 1) {
      this.#hold(this.#sequence + 1, `event ${this.#sequence + 1} is missing`)
      this.#sequence = record.sequence
      return
    }
    this.#sequence = record.sequence
    const body = this.#read(this.#after, record, (problem) => this.#hold(record.sequence, problem))
    const oldBody = this.#before === undefined ? undefined : this.#read(this.#before, record, () => this.#loseOld())
    const asked = this.#compare(record, oldBody, body)
    this.#open(record, body, asked)
    this.#meetSnapshot(record.sequence)
    const before = this.#before
    if (before !== undefined && oldBody !== undefined && body !== undefined)
      this.#probes.add(before, oldBody.event, this.#after, body.event)
    if (this.#probesAll) this.#tryOthers(record.at)
  }

  #read({ codec }: Side, { body }: EventRecord, failed: (problem: string) => void): EventBody | undefined {
    try {
      return codec.decodeEvent(body)
    } catch (cause) {
      failed(textOf(cause))
      return undefined
    }
  }

  /** The old code does not replay the journal either, so it is no measure for the new one. */
  #loseOld() {
    this.#before = undefined
    this.#old = undefined
  }

  /** Decides events that have not come, as long as both codes have led to the same state. */
  #tryOthers(at: number) {
    const [before, old, now] = [this.#before, this.#old, this.#now]
    if (this.#isApart || this.#probe !== undefined || this.#decision !== undefined) return
    if (before === undefined || old === undefined || now === undefined) return
    const found = this.#probes.difference(before, old, this.#after, now, at)
    if (found !== undefined) this.#probe = { sequence: this.#sequence, from: now._tag, ...found, isProbe: true }
  }

  /** Decides the event by both codes. Returns the decision of the new code where it stands in the way that the journal took. */
  #compare(record: EventRecord, oldBody: EventBody | undefined, body: EventBody | undefined): AnyTaken | undefined {
    const before = this.#before
    const at = record.at
    let recorded: AnyDecision | undefined
    let isReproducible = true
    if (before !== undefined && this.#old !== undefined && oldBody !== undefined) {
      if (oldBody.settled !== undefined) {
        const settled = oldBody.settled
        const asked = decide(before.compiled, this.#old, oldBody.event, at)
        isReproducible = isTaken(asked) && asked._tag === settled.outcome && isEqual(asked.state, settled.state)
        recorded = isReproducible ? asked : undefined
        this.#old = settled.state
      } else {
        const asked = decide(before.compiled, this.#old, oldBody.event, at)
        isReproducible = isTaken(asked) && answersAsRecorded(asked, oldBody)
        recorded = isReproducible ? asked : redecide(before.compiled, this.#old, oldBody.event, at, oldBody)
        if (!isTaken(recorded)) {
          this.#loseOld()
          recorded = undefined
        } else this.#old = recorded.state
      }
    }
    if (this.#isApart) {
      if (body !== undefined) this.#again?.event(record, body)
      return undefined
    }
    if (this.#now === undefined || body === undefined) {
      this.#now = undefined
      return undefined
    }
    const from = this.#now
    const decided = this.#decide(from, body, at, isReproducible)
    if (decided === undefined) {
      // It was decided by an Effect: the stored outcome stands for both.
      const settled = body.settled
      if (settled === undefined) {
        this.#now = undefined
        return undefined
      }
      this.#now = settled.state
      this.#again?.settled(record, body)
      return undefined
    }
    if (recorded !== undefined && this.#before !== undefined) {
      const changes = decisionChanges(this.#before, recorded, this.#after, decided)
      if (changes.length > 0) {
        this.#note(record.sequence, record.tag, from, changes)
        if (!isTaken(decided) || changes.some(({ path }) => isOfCourse(path))) {
          this.#part(isTaken(decided) ? decided.state : from)
          this.#again?.part(record, body, decided)
          return undefined
        }
      }
    }
    // Without the old code, a guard that answers otherwise is the sign that the new code goes another way.
    if (!isTaken(decided) || (this.#before === undefined && !answersAsRecorded(decided, body))) {
      this.#part(isTaken(decided) ? decided.state : from)
      this.#again?.part(record, body, decided)
      return undefined
    }
    this.#now = decided.state
    this.#again?.follow(record, body, decided)
    return decided
  }

  /** Asks the new code. Undefined where an Effect decided, or would decide. */
  #decide(from: Tagged, body: EventBody, at: number, isReproducible: boolean): AnyDecision | undefined {
    const { compiled, codec } = this.#after
    // Without an old code there is nothing that tells whether a stored outcome can be decided again.
    if (body.settled !== undefined && (!isReproducible || this.#before === undefined)) return undefined
    const decided = isReproducible ? decide(compiled, from, body.event, at) : redecide(compiled, from, body.event, at, body)
    if (decided._tag === "Deferred") return body.settled === undefined ? decided : undefined
    if (!isTaken(decided)) return decided
    const problem = attempt(() => (decided.state === from ? undefined : codec.stateProblem(decided.state, from)), textOf)
    return problem === undefined ? decided : refusedBy(compiled, from, body.event, problem)
  }

  /** Follows how the instance opens. Where the new code decided as recorded, that decision serves here too. */
  #open(record: EventRecord, body: EventBody | undefined, asked: AnyTaken | undefined) {
    const { snapshot } = this.#journal
    if (snapshot !== undefined && record.sequence <= snapshot.sequence) return
    const opening = this.#opening
    if (opening === undefined || opening.held !== undefined || body === undefined) return
    if (asked !== undefined && asked.from === opening.state && answersAsRecorded(asked, body) && body.settled === undefined) {
      this.#opening = { state: asked.state, held: undefined }
      return
    }
    if (body.settled !== undefined) {
      // The state is the one that is followed, so that the next decision is taken once.
      const isFollowed = this.#now !== undefined && isEqual(this.#now, body.settled.state)
      this.#opening = { state: isFollowed ? (this.#now as Tagged) : body.settled.state, held: undefined }
      return
    }
    const decision = replay(this.#after.compiled, opening.state, body.event, record.at, body)
    if (isTaken(decision)) {
      this.#opening = { state: decision.state, held: undefined }
      return
    }
    const problem =
      decision._tag === "Refused"
        ? decision.error.message
        : decision._tag === "Postponed"
          ? "the definition now postpones it"
          : "its decision has become an Effect since; it cannot be replayed"
    this.#hold(record.sequence, problem)
  }

  /** At its snapshot, an instance opens in the stored state. Where the old code led elsewhere, the stored state is what counts. */
  #meetSnapshot(sequence: number) {
    const { snapshot } = this.#journal
    if (snapshot === undefined || snapshot.sequence !== sequence) return
    const before = this.#before
    const stored = before === undefined ? undefined : attempt(() => stateIn(before, snapshot))
    if (stored !== undefined) this.#old = isEqual(stored, this.#old) ? this.#old : stored
    const opened = this.#opening
    if (this.#isApart || opened === undefined || opened.held !== undefined || this.#now === undefined) return
    // One object for both, so that decisions are taken once from here on.
    if (isEqual(this.#now, opened.state)) this.#opening = { state: this.#now, held: undefined }
    else if (this.#again === undefined) this.#now = opened.state
  }

  #hold(sequence: number, problem: string) {
    if (this.#opening?.held !== undefined) return
    const { snapshot } = this.#journal
    if (snapshot !== undefined && sequence <= snapshot.sequence) return
    this.#opening = { state: this.#opening?.state ?? { _tag: "(start)" }, held: { sequence, problem } }
  }

  #note(sequence: number, event: string, { _tag: from }: Tagged, changes: ReadonlyArray<Change>) {
    this.#decision ??= { sequence, event, from, changes }
  }

  #part(state: Tagged) {
    this.#isApart = true
    this.#now = state
  }

  end(): Judgement {
    const { record } = this.#journal
    if (this.#sequence < record.sequence) this.#hold(this.#sequence + 1, `event ${this.#sequence + 1} is missing`)
    const unseen = this.#probe === undefined ? {} : { unseen: this.#probe }
    // What a running instance would do with its next event is always asked, and counts as its own.
    this.#probe = undefined
    if (record.status === "running") this.#tryOthers(record.updatedAt)
    const verdict = this.#verdict()
    if (this.#again === undefined) return { verdict, ...unseen }
    const from = endText(record.tag, record.status)
    // What cannot be decided again stands as it was.
    return {
      verdict,
      ...unseen,
      flow: { from, to: this.#isApart ? this.#again.end() : this.#again.isAsStored(record.tag) ? from : this.#again.end() },
    }
  }

  #verdict(): Verdict {
    const opening = this.#opening
    if (opening?.held !== undefined) return { _tag: "Held", ...opening.held }
    const opens = opening === undefined ? [] : this.#opensOtherwise(opening.state)
    const decision = this.#decision ?? this.#probe
    if (decision === undefined && opens.length === 0) return same
    return {
      _tag: "Differs",
      sequence: this.#journal.record.sequence,
      ...(decision === undefined ? {} : { decision }),
      ...(opens.length === 0 ? {} : { opens }),
    }
  }

  #opensOtherwise(state: Tagged): ReadonlyArray<Change> {
    const { record } = this.#journal
    if (this.#before !== undefined && this.#old !== undefined) return stateChanges(this.#before, this.#old, this.#after, state)
    if (record.tag === state._tag || isRenamed(this.#after, record.version)) return []
    return [{ path: "state", before: record.tag, after: state._tag }]
  }
}

/** The state may have another name on purpose where an upcaster changes states. */
const isRenamed = ({ upcasters, compiled }: Side, written: number): boolean =>
  Object.entries(upcasters).some(
    ([version, { state }]) => state !== undefined && Number(version) >= written && Number(version) < compiled.declarations.version,
  )

/** How an instance stands in words: its state, and whether it has ended there. */
export const endText = (tag: string, status: string): string => {
  if (status === "final") return tag
  return status === "stopped" ? `${tag} (stopped)` : `${tag} (${status === "held" ? "held" : "running"})`
}

/** Differences after which the events of the journal no longer tell what would have happened. */
const isOfCourse = (path: string): boolean =>
  path.startsWith("state") ||
  path === "outcome" ||
  path.startsWith("raised events") ||
  path.startsWith("timers") ||
  path.startsWith("delayed")

const isTaken = (decision: AnyDecision): decision is AnyTaken =>
  decision._tag === "Goto" || decision._tag === "Stay" || decision._tag === "Stop"

const answersAsRecorded = ({ guardAnswers }: AnyTaken, body: EventBody): boolean => {
  // Journals that recorded guard slots only say nothing of inline guards.
  if (body.inlineGuards !== true && guardAnswers.length !== body.guardAnswers.length) return body.guardAnswers.length === 0
  return isEqual(guardAnswers, body.guardAnswers)
}

/** The engine refuses a state that does not fit its schema. */
const refusedBy = ({ name: machine }: Side["compiled"], from: Tagged, event: Tagged, problem: string): AnyDecision => ({
  _tag: "Refused",
  from,
  event,
  error: new ActionFailed({ machine, phase: "decide", state: from._tag, event: event._tag, committed: false, cause: new Error(problem) }),
})

const stateIn = ({ codec }: Side, { body, version }: NonNullable<ReadJournal["snapshot"]>): Tagged =>
  decodeSnapshot(codec, body, version).state

const unopened = (problem: string, sequence = 0): Opening => ({ state: { _tag: "(start)" }, held: { sequence, problem } })

const textOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

function attempt<A>(run: () => A): A | undefined
function attempt<A, B>(run: () => A, otherwise: (cause: unknown) => B): A | B
function attempt<A, B>(run: () => A, otherwise?: (cause: unknown) => B): A | B | undefined {
  try {
    return run()
  } catch (cause) {
    return otherwise?.(cause)
  }
}
