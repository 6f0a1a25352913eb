/** Compares what two versions of a machine decide. */
import type { Beginning, Decision, Request, Taken } from "@detent/machine"
import { asFields, type Compiled, hidden, isEffectSlot, isSensitive, type Tagged } from "@detent/machine/internal"
import * as Equal from "effect/Equal"
import type { Codec } from "../machine/Codec.ts"
import { type Upcasters, upcast } from "../machine/Upcasters.ts"
import type { Change } from "./Verdict.ts"

/** A definition of a machine, with what reads its journals. */
export interface Side {
  readonly compiled: Compiled
  readonly codec: Codec
  readonly upcasters: Upcasters
}

type Requested = Pick<Taken<Tagged, Tagged>, "requests" | "sends" | "timers" | "delays">

type AnyDecision = Decision<Tagged, Tagged>

const isTaken = (decision: AnyDecision): decision is Taken<Tagged, Tagged> =>
  decision._tag === "Goto" || decision._tag === "Stay" || decision._tag === "Stop"

/** What two decisions on the same event differ in. Both began in the same state. */
export const decisionChanges = (before: Side, old: AnyDecision, after: Side, now: AnyDecision): ReadonlyArray<Change> => {
  if (!isTaken(old))
    return isTaken(now) || old._tag !== now._tag ? [{ path: "outcome", before: outcomeText(old), after: outcomeText(now) }] : none
  if (!isTaken(now)) return [{ path: "outcome", before: outcomeText(old), after: outcomeText(now) }]
  const changes: Array<Change> = []
  if (old._tag !== now._tag) changes.push({ path: "outcome", before: outcomeText(old), after: outcomeText(now) })
  else if (old._tag === "Stop" && now._tag === "Stop" && old.reason !== now.reason)
    changes.push({ path: "outcome.reason", before: old.reason, after: now.reason })
  changes.push(...stateChanges(before, old.state, after, now.state))
  if (before.compiled.nodes.get(old.state._tag)?.final !== after.compiled.nodes.get(now.state._tag)?.final)
    changes.push({
      path: "state.isFinal",
      before: before.compiled.nodes.get(old.state._tag)?.final === true,
      after: after.compiled.nodes.get(now.state._tag)?.final === true,
    })
  if (!isEqual(tagsOf(old.through), tagsOf(now.through)))
    changes.push({ path: "through", before: tagsOf(old.through), after: tagsOf(now.through) })
  if (!isEqual(old.answer, now.answer)) changes.push({ path: "answer", ...shownAnswer(before, old), ...shownAnswer(after, now, "after") })
  if ((old.kept ?? 0) !== (now.kept ?? 0)) changes.push({ path: "groups kept", before: old.kept ?? 0, after: now.kept ?? 0 })
  return [...changes, ...requestedChanges(before, old, after, now)]
}

/** What entering the first state differs in. */
export const beginningChanges = (
  before: Side,
  old: Beginning<Tagged, Tagged>,
  after: Side,
  now: Beginning<Tagged, Tagged>,
): ReadonlyArray<Change> => [...stateChanges(before, old.state, after, now.state), ...requestedChanges(before, old, after, now)]

const none: ReadonlyArray<never> = []

const outcomeText = (decision: AnyDecision): string => {
  switch (decision._tag) {
    case "Refused":
      return `refused: ${decision.error.message}`
    case "Postponed":
      return "postponed"
    case "Deferred":
      return "decided by an Effect"
    case "Goto":
      return `enters ${decision.state._tag}`
    case "Stay":
      return `stays in ${decision.state._tag}`
    case "Stop":
      return "stops"
  }
}

const tagsOf = (states: ReadonlyArray<Tagged>): ReadonlyArray<string> => (states.length === 0 ? none : states.map(({ _tag }) => _tag))

/** Answers may be secret as a whole, so only that they differ is shown where the reply is sensitive. */
const shownAnswer = (side: Side, { event, answer }: Taken<Tagged, Tagged>, key: "before" | "after" = "before") => {
  const reply = side.compiled.declarations.event.$variants.get(event._tag)?.reply
  return answer === undefined ? {} : { [key]: reply !== undefined && isSensitive(reply) ? hidden : plainJson(answer) }
}

/** How a state of the new code differs from one of the old code. A state of an older version is read by the upcasters first. */
export const stateChanges = (before: Side, old: Tagged, after: Side, now: Tagged): ReadonlyArray<Change> => {
  if (old === now) return none
  const isSameVersion = before.codec.version === after.codec.version
  if (isSameVersion && isEqual(old, now)) return none
  const was = isSameVersion ? jsonOf(before, old) : upcastJson(before, old, after)
  const is = jsonOf(after, now)
  if (isEqual(was, is)) return none
  const tag = was["_tag"]
  const changes: Array<Change> = []
  if (tag !== now._tag) changes.push({ path: "state", before: tag, after: now._tag })
  const secret = new Set([...secretFields(before, old._tag), ...secretFields(after, now._tag)])
  changes.push(...fieldChanges("state", was, is, secret))
  return changes
}

const fieldChanges = (
  path: string,
  was: Readonly<Record<string, unknown>>,
  is: Readonly<Record<string, unknown>>,
  secret: ReadonlySet<string>,
): ReadonlyArray<Change> =>
  [...new Set([...Object.keys(was), ...Object.keys(is)])]
    .filter((name) => name !== "_tag" && !isEqual(was[name], is[name]))
    .map((name) => {
      const shown = (value: unknown) => (secret.has(name) ? hidden : value)
      return {
        path: `${path}.${name}`,
        ...(name in was ? { before: shown(was[name]) } : {}),
        ...(name in is ? { after: shown(is[name]) } : {}),
      }
    })

const jsonOf = ({ codec }: Side, state: Tagged): Readonly<Record<string, unknown>> => {
  try {
    return plainJson(codec.stateValue(state)) as Record<string, unknown>
  } catch {
    // A state that cannot be encoded is shown by its name: the decision that leads to it is refused anyway.
    return { _tag: state._tag }
  }
}

const upcastJson = (before: Side, old: Tagged, after: Side): Readonly<Record<string, unknown>> => {
  const stored = jsonOf(before, old)
  if (before.codec.version > after.codec.version) return stored
  try {
    const read = after.codec.stateOf(
      upcast(after.upcasters, "state", stored, before.codec.version, after.codec.version),
      after.codec.version,
    )
    return jsonOf(after, read)
  } catch {
    // It is compared as it was stored: whether it can be read is said where the instance opens.
    return stored
  }
}

const plainJson = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(JSON.stringify(value) ?? "null"))

const secretFields = ({ compiled }: Side, tag: string): ReadonlyArray<string> =>
  Object.entries(compiled.declarations.state.$variants.get(tag)?.fields ?? {})
    .filter(([, schema]) => isSensitive(schema))
    .map(([name]) => name)

/** Requested effects, raised events, timers and delayed events. */
const requestedChanges = (before: Side, old: Requested, after: Side, now: Requested): ReadonlyArray<Change> => {
  const changes: Array<Change> = []
  if (old.requests.length > 0 || now.requests.length > 0) changes.push(...effectChanges(before, old.requests, after, now.requests))
  if (old.sends.length > 0 || now.sends.length > 0) {
    const most = Math.max(old.sends.length, now.sends.length)
    for (let index = 0; index < most; index++) {
      const [was, is] = [old.sends[index], now.sends[index]]
      if (isEqual(was, is)) continue
      changes.push({ path: `raised events.${index}`, ...(was && { before: was._tag }), ...(is && { after: is._tag }) })
    }
  }
  if (old.timers.length > 0 || now.timers.length > 0)
    changes.push(...namedChanges("timers", millisByName(old.timers), millisByName(now.timers)))
  if (old.delays.length > 0 || now.delays.length > 0) changes.push(...namedChanges("delayed events", delaysByName(old), delaysByName(now)))
  return changes
}

const millisByName = (timers: Requested["timers"]) => new Map(timers.map(({ name, millis }) => [name, `${millis} ms`]))

const delaysByName = ({ delays }: Requested) =>
  new Map(delays.map(({ name, millis, event }) => [name, event === undefined ? "cancelled" : { in: `${millis} ms`, event }]))

const namedChanges = (path: string, was: ReadonlyMap<string, unknown>, is: ReadonlyMap<string, unknown>): ReadonlyArray<Change> =>
  [...new Set([...was.keys(), ...is.keys()])]
    .filter((name) => !isEqual(was.get(name), is.get(name)))
    .map((name) => ({
      path: `${path}.${name}`,
      ...(was.has(name) ? { before: shownDelay(was.get(name)) } : {}),
      ...(is.has(name) ? { after: shownDelay(is.get(name)) } : {}),
    }))

/** The fields of an event may be secret: only its name and its delay are shown. */
const shownDelay = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return value
  const { in: delay, event } = value as { readonly in: string; readonly event: Tagged }
  return `${event._tag} in ${delay}`
}

const effectChanges = (before: Side, old: ReadonlyArray<Request>, after: Side, now: ReadonlyArray<Request>): ReadonlyArray<Change> => {
  const changes: Array<Change> = []
  for (let index = 0; index < Math.max(old.length, now.length); index++) {
    const [was, is] = [old[index], now[index]]
    if (was !== undefined && is !== undefined && was.slot === is.slot) {
      if (isEqual(was.parameters, is.parameters)) continue
      const [wasJson, isJson] = [parametersOf(before, was), parametersOf(after, is)]
      const secret = new Set([...secretParameters(before, was.slot), ...secretParameters(after, is.slot)])
      changes.push(...fieldChanges(`effects.${was.slot}`, wasJson, isJson, secret))
      continue
    }
    if (was !== undefined) changes.push({ path: `effects.${was.slot}`, before: shownParameters(before, was) })
    if (is !== undefined) changes.push({ path: `effects.${is.slot}`, after: shownParameters(after, is) })
  }
  return changes
}

const parametersOf = ({ codec }: Side, { slot, parameters }: Request): Readonly<Record<string, unknown>> => {
  try {
    return JSON.parse(codec.encodeParameters(slot, parameters)) as Record<string, unknown>
  } catch (cause) {
    return { "(cannot be stored)": cause instanceof Error ? cause.message : String(cause) }
  }
}

const secretParameters = ({ compiled }: Side, slot: string): ReadonlyArray<string> => {
  const declared = compiled.declarations.effectSlots[slot] ?? {}
  return Object.entries(asFields(isEffectSlot(declared) ? declared.parameters : declared))
    .filter(([, schema]) => isSensitive(schema))
    .map(([name]) => name)
}

const shownParameters = (side: Side, request: Request): unknown => {
  const secret = new Set(secretParameters(side, request.slot))
  return Object.fromEntries(Object.entries(parametersOf(side, request)).map(([name, value]) => [name, secret.has(name) ? hidden : value]))
}

/** Whether two values are the same data. Values of classes, such as dates, are compared as Effect does. */
export const isEqual = (one: unknown, other: unknown): boolean => {
  if (Object.is(one, other)) return true
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false
  if (Array.isArray(one)) {
    if (!Array.isArray(other) || one.length !== other.length) return false
    for (let index = 0; index < one.length; index++) if (!isEqual(one[index], other[index])) return false
    return true
  }
  if (!isPlain(one) || !isPlain(other)) return Equal.equals(one, other)
  let keys = 0
  for (const key in one) {
    keys++
    if (!(key in other) || !isEqual((one as Record<string, unknown>)[key], (other as Record<string, unknown>)[key])) return false
  }
  for (const _ in other) keys--
  return keys === 0
}

const isPlain = (value: object): boolean => {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
