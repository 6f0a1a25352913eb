/** Machines that the tests of the engine share. */
import { Event, Machine, reply, State, stay, stop } from "@detent/machine"
import * as Schema from "effect/Schema"

export const S = State({
  Idle: { n: Schema.Number },
  Busy: { n: Schema.Number },
  Paused: { n: Schema.Number },
  Done: { n: Schema.Number },
})

export const E = Event({
  Start: {},
  Add: { by: Schema.Number },
  Pause: {},
  Resume: {},
  Again: {},
  Finish: {},
  Quit: {},
  Boom: {},
  Twice: {},
  Count: Event.reply({}, Schema.Number),
})

/** A bit of everything that needs no time. */
export const Job = Machine.make({ name: "job", state: S, event: E, initial: S.Idle({ n: 0 }) })
  .on(S.Idle, E.Start, S.Busy)
  .on(S.Busy, E.Add, S.Busy, ({ state, event }) => S.Busy({ n: state.n + event.by }))
  .on(S.Busy, E.Twice, stay, ({ self, state }) => {
    self.send(E.Add({ by: state.n }))
    self.send(E.Pause())
    return stay
  })
  .on(S.Busy, E.Pause, S.Paused)
  .on(S.Paused, E.Resume, S.Busy)
  .reenter(S.Busy, E.Again)
  .postpone(S.Paused, [E.Add, E.Finish])
  .on(S.Busy, E.Finish, S.Done)
  .on(S.Busy, E.Count, stay, ({ state }) => reply(state.n))
  .on(S.Busy, E.Boom, S.Busy, () => {
    throw new Error("boom")
  })
  .onAny(E.Quit, stop("quit"))
  .final(S.Done)

export const T = State({ Waiting: { minutes: Schema.Number }, Late: {}, VeryLate: {}, Quiet: {}, Answered: {} })
export const V = Event({ Answer: {}, Ping: {}, Again: {}, Extend: { minutes: Schema.Number }, Quit: {} })

/** Waits for an answer; tests add the deadlines. */
export const Call = Machine.make({ name: "call", state: T, event: V, initial: T.Waiting({ minutes: 10 }) })
  .on(T.Waiting, V.Answer, T.Answered)
  .on(T.Waiting, V.Ping, stay)
  .on(T.Waiting, V.Extend, T.Waiting)
  .reenter(T.Waiting, V.Again)
  .onAny(V.Quit, stop("quit"))

/** One that is late after a minute. */
export const TimedCall = Call.timeout(T.Waiting, "1 minute", T.Late)
