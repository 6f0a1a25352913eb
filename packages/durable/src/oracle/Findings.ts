/** What the oracle has found of a machine or a workflow: counts, the reasons with an example each, and flows. Bounded in size. */
import type { Change, DecisionChange, Differs, Held, Judgement, Verdict } from "./Verdict.ts"

/** Instances that differ, or are held, for the same reason. */
export interface Reason {
  /** `unseen`: events that have not come would be decided differently, in states that instances were in. */
  readonly verdict: "differs" | "held" | "unseen"
  /** The event at which they differ, or are held. Absent where only the state in which they open is another. */
  readonly event?: string
  /** The state in which the event was decided. */
  readonly from?: string
  /** What is different in words, without the values that differ between instances. */
  readonly summary: string
  readonly count: number
  /** The id of one of them. */
  readonly example: string
}

/** One instance that differs, or is held. */
export interface Finding {
  readonly id: string
  readonly verdict: Differs | Held
}

/** How many instances have ended one way, and would have ended another. */
export interface Flow {
  readonly from: string
  readonly to: string
  readonly count: number
  readonly example: string
}

export interface Findings {
  /** The name of the machine; of a workflow, `workflow/NAME`. */
  readonly machine: string
  readonly checked: number
  /** How many of those that were checked have ended. */
  readonly ended: number
  readonly same: number
  readonly differs: number
  readonly held: number
  /** In how many journals a state was found in which an event that has not come would be decided differently. */
  readonly unseen: number
  /** The most frequent first. */
  readonly reasons: ReadonlyArray<Reason>
  readonly findings: ReadonlyArray<Finding>
  /** Only where the oracle was asked what would have been. The most frequent first. */
  readonly flows: ReadonlyArray<Flow>
}

/** More reasons than this are counted as one: they differ in what no list shows. */
const mostReasons = 200

const mostFlows = 1000

/** Collects judgements. */
export class FindingsOf {
  readonly #machine: string
  /** How many findings are kept. */
  readonly #most: number
  #checked = 0
  #ended = 0
  #same = 0
  #differs = 0
  #held = 0
  #unseen = 0
  readonly #reasons = new Map<string, Reason>()
  readonly #findings: Array<Finding> = []
  readonly #flows = new Map<string, Flow>()

  constructor(machine: string, most: number) {
    this.#machine = machine
    this.#most = most
  }

  get checked(): number {
    return this.#checked
  }

  add(id: string, hasEnded: boolean, { verdict, flow, unseen }: Judgement) {
    this.#checked++
    if (hasEnded) this.#ended++
    if (flow !== undefined) this.#addFlow({ ...flow, count: 1, example: id })
    if (unseen !== undefined) {
      this.#unseen++
      this.#addReason({ ...decisionReason(unseen, id), verdict: "unseen", count: 1, example: id })
    }
    if (verdict._tag === "Same") {
      this.#same++
      return
    }
    if (verdict._tag === "Held") this.#held++
    else this.#differs++
    this.#addReason({ ...reasonOf(verdict, id), count: 1, example: id })
    if (this.#findings.length < this.#most) this.#findings.push({ id, verdict })
  }

  merge(other: Findings) {
    this.#checked += other.checked
    this.#ended += other.ended
    this.#same += other.same
    this.#differs += other.differs
    this.#held += other.held
    this.#unseen += other.unseen
    for (const reason of other.reasons) this.#addReason(reason)
    this.#findings.push(...other.findings.slice(0, this.#most - this.#findings.length))
    for (const flow of other.flows) this.#addFlow(flow)
  }

  #addReason(reason: Reason) {
    const isFull = this.#reasons.size >= mostReasons
    const key = JSON.stringify([reason.verdict, reason.event, reason.from, reason.summary])
    const known = this.#reasons.get(key)
    if (known !== undefined) this.#reasons.set(key, { ...known, count: known.count + reason.count })
    else if (!isFull) this.#reasons.set(key, reason)
    else this.#addReason({ verdict: reason.verdict, summary: "for other reasons", count: reason.count, example: reason.example })
  }

  #addFlow(flow: Flow) {
    const key = JSON.stringify([flow.from, flow.to])
    const known = this.#flows.get(key)
    if (known !== undefined) this.#flows.set(key, { ...known, count: known.count + flow.count })
    else if (this.#flows.size < mostFlows) this.#flows.set(key, flow)
  }

  get result(): Findings {
    return {
      machine: this.#machine,
      checked: this.#checked,
      ended: this.#ended,
      same: this.#same,
      differs: this.#differs,
      held: this.#held,
      unseen: this.#unseen,
      reasons: [...this.#reasons.values()].sort((one, other) => other.count - one.count),
      findings: this.#findings,
      flows: [...this.#flows.values()].sort((one, other) => other.count - one.count),
    }
  }
}

const reasonOf = (verdict: Exclude<Verdict, { readonly _tag: "Same" }>, id: string): Omit<Reason, "count" | "example"> => {
  if (verdict._tag === "Held") {
    // The parts that differ between instances, such as ids, are left out.
    return { verdict: "held", summary: verdict.problem.replaceAll(id, "ID").slice(0, 300) }
  }
  const { decision, opens } = verdict
  if (decision === undefined) return { verdict: "differs", summary: `opens otherwise: ${summaryOf(opens ?? [])}` }
  return { verdict: "differs", ...decisionReason(decision, id) }
}

const decisionReason = ({ event, from, changes, isProbe }: DecisionChange, id: string) => ({
  event: isProbe === true ? `${event}, if it came` : event,
  from,
  summary: summaryOf(changes).replaceAll(id, "ID").slice(0, 300),
})

/** Names of states and outcomes are few, and are shown; other values are not. */
const summaryOf = (changes: ReadonlyArray<Change>): string =>
  changes
    .slice(0, 6)
    .map((change) => {
      const { path } = change
      if (path === "state" || path === "outcome" || path === "state.isFinal" || path.startsWith("timers."))
        return `${path}: ${String(change.before ?? "none")} → ${String(change.after ?? "none")}`
      if (!("before" in change)) return `${path} is new`
      return "after" in change ? `${path} changes` : `${path} is gone`
    })
    .join(", ")
