/**
 * Draws the diagrams of the concepts with the diagram tools of `@detent/machine`, from machines that describe their lives.
 *
 *     npx node docs/diagrams.ts            draws them anew
 */
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Event, Machine, State } from "@detent/machine"
import { Svg } from "@detent/machine/diagram"
import * as Effect from "effect/Effect"
import { Order } from "./snippets/Order.ts"

const I = State({ Running: {}, Held: {}, Final: {}, Stopped: {} })
const IE = Event({
  Event: {},
  "a final state": {},
  "stop(reason)": {},
  "an event does not replay": {},
  "repair, or a fitting definition": {},
})
const instance = Machine.make({ name: "instance", state: I, event: IE, initial: I.Running() })
  .on(I.Running, IE.Event, I.Running)
  .on(I.Running, IE["a final state"], I.Final)
  .on(I.Running, IE["stop(reason)"], I.Stopped)
  .on(I.Running, IE["an event does not replay"], I.Held)
  .on(I.Held, IE["repair, or a fitting definition"], I.Running)
  .final(I.Final, I.Stopped)

const C = State({ Pending: {}, Processing: {}, Completed: {}, Handled: {}, Failed: {}, Skipped: {} })
const CE = Event({
  "a worker claims it": {},
  success: {},
  "failure, attempts remain": {},
  "the claim expires": {},
  "declared failure, event taken": {},
  "failure, no attempt remains": {},
  "retried by hand": {},
  "skipped by hand": {},
})
const command = Machine.make({ name: "command", state: C, event: CE, initial: C.Pending() })
  .on(C.Pending, CE["a worker claims it"], C.Processing)
  .on(C.Processing, CE.success, C.Completed)
  .on(C.Processing, CE["declared failure, event taken"], C.Handled)
  .on(C.Processing, CE["failure, no attempt remains"], C.Failed)
  .on(C.Processing, CE["failure, attempts remain"], C.Pending)
  .on(C.Processing, CE["the claim expires"], C.Pending)
  .on(C.Failed, CE["retried by hand"], C.Pending)
  .on([C.Failed, C.Pending], CE["skipped by hand"], C.Skipped)
  .final(C.Completed, C.Handled, C.Skipped)

const T = State({ Armed: {}, Fired: {}, Cleared: {}, Dead: {} })
const TE = Event({ "the deadline passes": {}, "the state is left": {}, "five attempts fail": {}, revive: {} })
const timer = Machine.make({ name: "timer", state: T, event: TE, initial: T.Armed() })
  .on(T.Armed, TE["the deadline passes"], T.Fired)
  .on(T.Armed, TE["the state is left"], T.Cleared)
  .on(T.Armed, TE["five attempts fail"], T.Dead)
  .on(T.Dead, TE.revive, T.Armed)
  .final(T.Fired, T.Cleared)

const O = State({ "No owner": {}, Owned: {}, Expired: {} })
const OE = Event({ "a commit enters a state with work": {}, "the lease ends": {}, "another node takes over": {}, "the state is left": {} })
const owner = Machine.make({ name: "owner", state: O, event: OE, initial: O["No owner"]() })
  .on(O["No owner"], OE["a commit enters a state with work"], O.Owned)
  .on(O.Owned, OE["the lease ends"], O.Expired)
  .on(O.Expired, OE["another node takes over"], O.Owned)
  .on(O.Owned, OE["the state is left"], O["No owner"])

const X = State({ Running: {}, Suspended: {}, Compensating: {}, Held: {}, Completed: {}, Failed: {}, Interrupted: {} })
const XE = Event({
  "sleeps or waits": {},
  "a clock or an event": {},
  "a compensation runs": {},
  "the code does not fit": {},
  resume: {},
  returns: {},
  fails: {},
  "is interrupted": {},
})
const execution = Machine.make({ name: "execution", state: X, event: XE, initial: X.Running() })
  .on(X.Running, XE["sleeps or waits"], X.Suspended)
  .on(X.Suspended, XE["a clock or an event"], X.Running)
  .on(X.Running, XE["a compensation runs"], X.Compensating)
  .on(X.Running, XE["the code does not fit"], X.Held)
  .on(X.Held, XE.resume, X.Running)
  .on(X.Running, XE.returns, X.Completed)
  .on([X.Running, X.Compensating], XE.fails, X.Failed)
  .on([X.Running, X.Compensating], XE["is interrupted"], X.Interrupted)
  .final(X.Completed, X.Failed, X.Interrupted)

const machines = { machine: Order, instance, command, timer, owner, execution }

/** All diagrams as they should be, by the path of their file. */
export const draw: Effect.Effect<ReadonlyArray<{ readonly path: string; readonly content: string }>, Svg.DiagramError> = Effect.forEach(
  Object.entries(machines),
  ([name, machine]) =>
    Effect.map(Svg.render(machine), (content) => ({ path: join(import.meta.dirname, "diagrams", `${name}.svg`), content })),
)

if (import.meta.main) for (const { path, content } of await Effect.runPromise(draw)) await writeFile(path, content)
