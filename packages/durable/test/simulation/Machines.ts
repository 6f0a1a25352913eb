/** The machines that simulated clients and crashing processes drive: between them they have everything an instance can have. */
import { Event, Machine, Slot, State, stay, stop } from "@detent/machine"
import { compiledOf, type Tagged } from "@detent/machine/internal"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Codec } from "../../src/machine/Codec.ts"
import type { Chance } from "./Chance.ts"

/** A machine of whatever states and events. */
export type AnyMachine = Machine.Definition<Tagged, Tagged, void, never>

/** Every event a client sends has a token of its own, so that it is found in the journal whatever became of it. */
const token = { token: Schema.String }

/** Counts, falls asleep without events, and raises events itself. */
const CounterState = State({ Counting: { n: Schema.Number }, Paused: { n: Schema.Number }, Asleep: { n: Schema.Number } })
const CounterEvent = Event({
  Add: { ...token, by: Schema.Number },
  Double: token,
  Pause: token,
  Resume: token,
  Look: token,
  Wake: token,
})
const counter = (pace: number, version: number) =>
  Machine.make({ name: "counter", version, state: CounterState, event: CounterEvent, initial: CounterState.Counting({ n: 0 }) })
    .on(CounterState.Counting, CounterEvent.Add, CounterState.Counting, ({ state, event }) =>
      CounterState.Counting({ n: state.n + event.by }),
    )
    .on(CounterState.Counting, CounterEvent.Double, stay, ({ state, event, self }) => {
      self.send(CounterEvent.Add({ by: state.n % 1000, token: `${event.token}+add` }))
      self.send(CounterEvent.Pause({ token: `${event.token}+pause` }))
      return stay
    })
    .on(CounterState.Counting, CounterEvent.Pause, CounterState.Paused)
    .on(CounterState.Paused, CounterEvent.Resume, CounterState.Counting)
    .on(CounterState.Asleep, CounterEvent.Wake, CounterState.Counting)
    .on(CounterState.Counting, CounterEvent.Look, stay, () => Effect.as(Effect.sleep(20 * pace), stay))
    .postpone(CounterState.Paused, CounterEvent.Add)
    .timeout(CounterState.Counting, 7000 * pace, CounterState.Asleep, { name: "idle", idle: true })
    .timeout(CounterState.Paused, 3000 * pace, CounterState.Counting)
    .persist({ snapshot: { _tag: "EveryN", transitions: 5 } })

/** Waits to be paid; reminds; asks the outside world for things; ends. */
const OrderState = State({ Pending: { n: Schema.Number }, Awaiting: { n: Schema.Number }, Paid: { n: Schema.Number }, Late: {} })
const OrderEvent = Event({ Request: token, Pay: token, Ping: token, Again: token, Back: token, Quit: token })
const effects = Slot.Effects({ charge: { n: Schema.Number }, mail: { text: Schema.String } })
const order = (pace: number, version: number) =>
  Machine.make({ name: "order", version, state: OrderState, event: OrderEvent, effects, initial: OrderState.Pending({ n: 0 }) })
    .on(OrderState.Pending, OrderEvent.Request, OrderState.Awaiting, ({ state, effects }) => {
      effects.mail({ text: "please pay" })
      effects.mail({ text: "soon" })
      return OrderState.Awaiting({ n: state.n + 1 })
    })
    .on(OrderState.Awaiting, OrderEvent.Ping, stay)
    .on(OrderState.Awaiting, OrderEvent.Back, OrderState.Pending)
    .reenter(OrderState.Awaiting, OrderEvent.Again)
    .on(OrderState.Awaiting, OrderEvent.Pay, OrderState.Paid)
    .on(OrderState.Late, OrderEvent.Back, OrderState.Pending, () => OrderState.Pending({ n: 0 }))
    .onAny(OrderEvent.Quit, stop("quit"))
    .timeout(OrderState.Awaiting, 2000 * pace, stay, { name: "reminder" })
    .timeout(OrderState.Awaiting, 5000 * pace, OrderState.Late)
    .enter(OrderState.Paid, ({ state, effects }) => effects.charge({ n: state.n }))
    .final(OrderState.Paid)
    .build({ charge: () => Effect.void, mail: () => Effect.void })

/** Works: its state has work of its own, its hooks take time, and its work has a deadline. */
const JobState = State({ Idle: { n: Schema.Number }, Working: { n: Schema.Number }, Resting: { n: Schema.Number } })
const JobEvent = Event({ Begin: token, Progress: {}, Finish: {}, Abort: token, Note: token })
const job = (pace: number, version: number) =>
  Machine.make({
    name: "job",
    version,
    state: JobState,
    event: JobEvent,
    initial: JobState.Idle({ n: 0 }),
  })
    .on(JobState.Idle, JobEvent.Begin, JobState.Working, ({ state, event, self }) => {
      self.send(JobEvent.Note({ token: `${event.token}+note` }))
      return JobState.Working({ n: state.n })
    })
    .on(JobState.Working, JobEvent.Progress, JobState.Working, ({ state }) => JobState.Working({ n: state.n + 1 }))
    .on(JobState.Working, JobEvent.Finish, JobState.Resting)
    .on(JobState.Working, JobEvent.Abort, JobState.Idle)
    .on([JobState.Idle, JobState.Working], JobEvent.Note, stay)
    .timeout(JobState.Working, 20_000 * pace, JobState.Resting, { name: "deadline" })
    .timeout(JobState.Resting, 1000 * pace, JobState.Idle)
    .enter(JobState.Working, () => Effect.sleep(5))
    .exit(JobState.Working, () => Effect.sleep(5))
    .spawn(JobState.Working, ({ self }) =>
      Effect.gen(function* () {
        yield* Effect.sleep(300 * pace)
        yield* self.send(JobEvent.Progress())
        yield* Effect.sleep(300 * pace)
        yield* self.send(JobEvent.Finish())
      }),
    )
    .persist({ snapshot: { _tag: "EveryTransition" } })

/** Owes things: sends itself events across hooks that take time, sets delayed events, and postpones those of clients and its own. */
const DeskState = State({ Open: { n: Schema.Number }, Busy: { n: Schema.Number }, Closed: { n: Schema.Number } })
const DeskEvent = Event({ Ask: token, Work: token, Close: token, Reopen: token, Echo: token, Late: token, Note: token })
const desk = (pace: number) =>
  Machine.make({ name: "desk", state: DeskState, event: DeskEvent, initial: DeskState.Open({ n: 0 }) })
    .on(DeskState.Open, DeskEvent.Ask, DeskState.Open, ({ state }) => DeskState.Open({ n: state.n + 1 }))
    // No timer of this state would open the instance after a kill, or show another node's commit.
    .on(DeskState.Open, DeskEvent.Work, DeskState.Busy, ({ state, event, self }) => {
      self.send(DeskEvent.Echo({ token: `${event.token}+echo` }))
      return DeskState.Busy({ n: state.n })
    })
    .on(DeskState.Busy, DeskEvent.Echo, DeskState.Open, ({ state, event, self, after }) => {
      self.send(DeskEvent.Ask({ token: `${event.token}+ask` }))
      after("soon", 700 * pace, DeskEvent.Late({ token: `${event.token}+soon` }))
      return DeskState.Open({ n: state.n })
    })
    .on(DeskState.Open, DeskEvent.Close, DeskState.Closed, ({ state, event, self, after }) => {
      self.send(DeskEvent.Ask({ token: `${event.token}+ask` }))
      after("late", 4000 * pace, DeskEvent.Late({ token: `${event.token}+late` }))
      return DeskState.Closed({ n: state.n })
    })
    .on(DeskState.Closed, DeskEvent.Reopen, DeskState.Open)
    .on([DeskState.Open, DeskState.Busy, DeskState.Closed], [DeskEvent.Late, DeskEvent.Note], stay)
    .postpone(DeskState.Busy, [DeskEvent.Ask, DeskEvent.Work, DeskEvent.Close])
    .postpone(DeskState.Closed, [DeskEvent.Ask, DeskEvent.Work])
    .enter(DeskState.Busy, () => Effect.sleep(400 * pace))
    .exit(DeskState.Busy, () => Effect.sleep(5))
    .persist({ snapshot: { _tag: "EveryN", transitions: 4 } })

const any = (machine: unknown) => machine as AnyMachine

export interface Driven {
  readonly machine: AnyMachine
  /** Something a client might send. */
  readonly event: (chance: Chance, token: string) => Tagged
  /** An event that leaves state and timers as they are wherever it is accepted, for writers that are no engine. */
  readonly plain: ((token: string) => Tagged) | undefined
}

/** The machines, slow or fast: at pace 1 their deadlines are a few seconds. Their versions behave the same. */
export const machinesAt = (pace: number, version = 1): ReadonlyArray<Driven> => [
  {
    machine: any(counter(pace, version)),
    event: (chance, token) =>
      chance.pick([
        ...Array.from({ length: 8 }, () => CounterEvent.Add({ token, by: chance.between(1, 9) })),
        CounterEvent.Double({ token }),
        CounterEvent.Pause({ token }),
        CounterEvent.Resume({ token }),
        CounterEvent.Look({ token }),
        CounterEvent.Wake({ token }),
      ]),
    plain: undefined,
  },
  {
    machine: any(order(pace, version)),
    event: (chance, token) => {
      if (chance.happens(0.02)) return OrderEvent.Quit({ token })
      if (chance.happens(0.05)) return OrderEvent.Pay({ token })
      return chance.pick([OrderEvent.Request, OrderEvent.Request, OrderEvent.Ping, OrderEvent.Again, OrderEvent.Back])({ token })
    },
    plain: (token) => OrderEvent.Ping({ token }),
  },
  {
    machine: any(job(pace, version)),
    event: (chance, token) => chance.pick([JobEvent.Begin, JobEvent.Begin, JobEvent.Abort, JobEvent.Note, JobEvent.Note])({ token }),
    plain: (token) => JobEvent.Note({ token }),
  },
]

/** The machine that owes things, in schedules of its own. */
export const deskAt = (pace: number): Driven => ({
  machine: any(desk(pace)),
  event: (chance, token) =>
    chance.pick([
      DeskEvent.Ask,
      DeskEvent.Ask,
      DeskEvent.Ask,
      DeskEvent.Work,
      DeskEvent.Work,
      DeskEvent.Close,
      DeskEvent.Reopen,
      DeskEvent.Reopen,
      DeskEvent.Note,
    ])({ token }),
  plain: (token) => DeskEvent.Note({ token }),
})

/** What opens a closed desk, so that it handles the events that it has postponed. */
export const reopen = (token: string): Tagged => DeskEvent.Reopen({ token })

export const machines = machinesAt(1)

export const driven = (name: string, among: ReadonlyArray<Driven> = [...machines, deskAt(1)]): Driven =>
  among.find(({ machine }) => machine.name === name) as Driven

const codecs = new Map([...machines, deskAt(1)].map(({ machine }) => [machine.name, new Codec(compiledOf(machine), {})]))

/** The newest version of a machine that a rolling deploy of tests brings. */
const newest = 100

/** A version reads what those before it wrote, as it is. */
export const upcastersTo = (version: number) => Object.fromEntries(Array.from({ length: version - 1 }, (_, index) => [index + 1, {}]))

const readers = new Map(
  [...machinesAt(1, newest), deskAt(1)].map(({ machine }) => [machine.name, new Codec(compiledOf(machine), upcastersTo(newest))]),
)

/** Reads what any version of a machine has written. */
export const readerOf = (name: string): Codec => readers.get(name) as Codec

/** Writes as version 1 does. */
export const codecOf = (name: string): Codec => codecs.get(name) as Codec
