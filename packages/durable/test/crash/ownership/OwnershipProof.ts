/** Proves from the logs of all processes that each piece of work had one owner at a time, and that others took it over in time. */
import type { WorkRecord } from "./Shift.ts"

/** When a process was killed, by the monotonic clock. */
export interface Kill {
  readonly pid: number
  readonly at: number
  /** The instances that the store gave to it at that time. */
  readonly owned: ReadonlySet<string>
}

/** From when to when a process was stopped by SIGSTOP. */
export interface Freeze {
  readonly pid: number
  readonly from: number
  readonly to: number
  /** The instances that the store gave to it when it was stopped. */
  readonly owned: ReadonlySet<string>
}

/** From when to when no process could write to the store: one that was frozen in the middle of a transaction held its lock. */
export interface Blockage {
  readonly from: number
  readonly to: number
}

export interface Evidence {
  readonly records: ReadonlyArray<WorkRecord>
  readonly kills: ReadonlyArray<Kill>
  readonly freezes: ReadonlyArray<Freeze>
  readonly blockages: ReadonlyArray<Blockage>
  readonly leaseMillis: number
  /** How much later than lease plus one second a takeover may be, for a machine that is busy with other things. */
  readonly slackMillis: number
}

export interface OwnershipReport {
  readonly problems: ReadonlyArray<string>
  /** Of the problems, those of work that ran twice at once. */
  readonly overlaps: ReadonlyArray<string>
  readonly runs: number
  /** Runs that were taken over from a process that was killed or frozen. */
  readonly takeovers: number
  readonly slowestTakeoverMillis: number
}

/** A process that was woken for a short time before it was stopped again had no time to work. */
const wakingMillis = 100

/** How long after a state was left by another process its work may still begin: the news is on its way. */
const newsMillis = 1_000

interface Run {
  readonly pid: number
  readonly id: string
  readonly round: number
  readonly begin: number
  /** When the work did something: its beats and its end. */
  readonly steps: Array<number>
  /** When it ended or was interrupted; undefined for a run that its process did not survive. */
  over: number | undefined
}

export const proveOwnership = ({ records, kills, freezes, blockages, leaseMillis, slackMillis }: Evidence): OwnershipReport => {
  const overlaps: Array<string> = []
  const problems: Array<string> = []
  const runs = runsOf(records)
  const byInstance = Map.groupBy(runs, ({ id }) => id)

  const isWaking = (pid: number, at: number): boolean =>
    freezes.some((freeze) => freeze.pid === pid && at >= freeze.from && at <= freeze.to + wakingMillis)

  for (const ofInstance of byInstance.values()) {
    const sorted = ofInstance.toSorted((a, b) => a.begin - b.begin)
    for (const [index, run] of sorted.entries()) {
      const later = sorted.slice(index + 1)
      const same = later.find(({ round }) => round === run.round)
      if (same !== undefined) {
        const overlapping = run.steps.filter((at) => at > same.begin)
        if (overlapping.length > 0) overlaps.push(overlapText(run, same, Math.max(...overlapping) - same.begin))
      }
      const newer = sorted.slice(0, index).find(({ round, begin }) => round > run.round && run.begin - begin > newsMillis)
      if (newer !== undefined && !isWaking(run.pid, run.begin))
        problems.push(
          `${run.id}: process ${run.pid} began round ${run.round} ${millisText(run.begin - newer.begin)} after round ${newer.round}`,
        )
    }
  }

  /** When processes that were at work went away. One that is killed or frozen again as it wakes had been away before. */
  const departures = [...kills, ...freezes.map(({ pid, from, owned }) => ({ pid, at: from, owned }))]
    .filter(({ pid, at }) => !freezes.some((freeze) => freeze.pid === pid && freeze.from < at && at <= freeze.to + wakingMillis))
    .toSorted((one, other) => one.at - other.at)
  const limit = leaseMillis + 1_000 + slackMillis
  let [takeovers, slowest] = [0, 0]
  /**
   * When an instance was last given to a process that could not run it: one that took it over in time may itself be killed or
   * frozen before the work begins, and the next takeover counts from there.
   */
  const lastLost = (id: string, pid: number, at: number, next: number): number => {
    const heir = departures.find(
      (one) =>
        one.pid !== pid &&
        one.at > at &&
        one.at < next &&
        one.at - at - blockedBetween(blockages, at, one.at) <= limit &&
        one.owned.has(id),
    )
    return heir === undefined ? at : lastLost(id, heir.pid, heir.at, next)
  }
  /** The work that a process ran when it went away must run again in time, in this round or a later one. */
  const proveTakeover = (pid: number, at: number, how: string) => {
    for (const run of runs) {
      if (run.pid !== pid || run.begin > at || (run.over !== undefined && run.over <= at)) continue
      const others = (byInstance.get(run.id) ?? []).filter((other) => other !== run && other.round >= run.round)
      // Another process had taken it over or left the state already: this process was frozen, and its run about to be stopped.
      if (others.some(({ pid: by, round, begin }) => (round > run.round || (by !== pid && begin > run.begin)) && begin <= at)) continue
      const next = Math.min(...others.filter(({ begin }) => begin > at).map(({ begin }) => begin))
      const since = next - at > limit ? lastLost(run.id, pid, at, next) : at
      const waited = next - since - blockedBetween(blockages, since, next)
      takeovers++
      slowest = Math.max(slowest, waited)
      if (waited > limit)
        problems.push(`${run.id}: process ${pid} was ${how} in round ${run.round}; the work ran again ${waitText(waited)}`)
    }
  }
  for (const { pid, at } of kills) {
    // One that was killed while it was frozen was away from then on.
    const frozen = freezes.find((freeze) => freeze.pid === pid && freeze.from <= at && at <= freeze.to)
    proveTakeover(pid, frozen?.from ?? at, "killed")
  }
  for (const { pid, from, to } of freezes) {
    const wasKilled = kills.some((kill) => kill.pid === pid && kill.at >= from && kill.at <= to)
    if (!wasKilled && to - from > limit) proveTakeover(pid, from, "frozen")
  }
  return { problems: [...overlaps, ...problems], overlaps, runs: runs.length, takeovers, slowestTakeoverMillis: slowest }
}

const blockedBetween = (blockages: ReadonlyArray<Blockage>, from: number, to: number): number =>
  blockages.reduce((sum, blockage) => sum + Math.max(0, Math.min(to, blockage.to) - Math.max(from, blockage.from)), 0)

const runsOf = (records: ReadonlyArray<WorkRecord>): ReadonlyArray<Run> => {
  const runs = new Map<string, Run>()
  for (const { pid, run: number, id, round, phase, at } of records) {
    const key = `${pid}/${number}`
    const run = runs.get(key) ?? { pid, id, round, begin: at, steps: [], over: undefined }
    runs.set(key, run)
    if (phase === "beat" || phase === "end") run.steps.push(at)
    if (phase === "end" || phase === "stopped") run.over ??= at
  }
  return [...runs.values()]
}

const overlapText = (one: Run, other: Run, millis: number): string =>
  `${one.id}: processes ${one.pid} and ${other.pid} both ran the work of round ${one.round}, for ${millisText(millis)}`

const millisText = (millis: number): string => `${Math.round(millis)} ms`

const waitText = (millis: number): string => (Number.isFinite(millis) ? `${millisText(millis)} later` : "never")
