/** What is declared for a group belongs to the stay in the group. */
import { Event, history, Machine, Slot, State, spawn, stop, timeoutEvent } from "@detent/machine"
import { Mermaid } from "@detent/machine/diagram"
import { advance, explore, simulate } from "@detent/machine/testing"
import { assert, describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"

const S = State({
  Draft: { id: Schema.String },
  Reviewing: State.group({
    Peer: { id: Schema.String },
    Formal: State.group({ Legal: { id: Schema.String }, Privacy: { id: Schema.String } }),
  }),
  Expired: { id: Schema.String },
})
const E = Event({ Submit: {}, Next: {}, Back: {}, Again: {}, Withdraw: {}, Halt: {}, Ping: {} })

const Base = Machine.make({ name: "review", state: S, event: E, initial: S.Draft({ id: "d" }) })
  .on(S.Draft, E.Submit, S.Peer)
  .on(S.Peer, E.Next, S.Legal)
  .on(S.Legal, E.Next, S.Privacy)
  .on(S.Formal, E.Back, S.Peer)
  .on(S.Reviewing, E.Withdraw, S.Draft)
  .on(S.Reviewing, E.Halt, stop("halted"))
  .on(S.Peer, E.Ping, S.Peer)
  .on([S.Legal, S.Privacy], E.Ping, [S.Legal, S.Privacy], ({ state }) => state, { sameState: true })
  .reenter(S.Reviewing, E.Again)

describe("the timeout of a group", () => {
  const Timed = Base.timeout(S.Reviewing, "3 days", S.Expired)

  it("161 counts from when the group was entered, whatever moves follow inside it", () => {
    const run = simulate(Timed, undefined, [E.Submit(), advance("2 days"), E.Next(), advance("12 hours"), E.Next(), advance("12 hours")])
    expect(run.path).toEqual(["Draft", "Peer", "Legal", "Privacy", "Expired"])
  })

  it("161 starts anew when the group is entered again from outside", () => {
    const again = [E.Submit(), advance("2 days"), E.Withdraw(), E.Submit(), advance("2 days")]
    expect(simulate(Timed, undefined, again).state._tag).toBe("Peer")
    expect(simulate(Timed, undefined, [...again, advance("1 day")]).state._tag).toBe("Expired")
  })

  it("starts anew with a reenter of the group, not with one of a state in it", () => {
    const passes = [E.Submit(), advance("2 days"), E.Again(), advance("2 days")]
    expect(simulate(Timed, undefined, passes).state._tag).toBe("Peer")
    const Inner = Machine.make({ name: "inner", state: S, event: E, initial: S.Peer({ id: "p" }) })
      .reenter(S.Peer, E.Again)
      .timeout(S.Reviewing, "3 days", S.Expired)
    expect(simulate(Inner, undefined, [advance("2 days"), E.Again(), advance("1 day")]).state._tag).toBe("Expired")
  })

  it("means each of its states with { each: true }", () => {
    const Each = Base.timeout(S.Reviewing, "3 days", S.Expired, { each: true })
    const passes = [E.Submit(), advance("2 days"), E.Next(), advance("2 days")]
    expect(simulate(Each, undefined, passes).state._tag).toBe("Legal")
    expect(simulate(Each, undefined, [...passes, advance("1 day")]).state._tag).toBe("Expired")
  })

  it("is idle where no event comes, and restarts with each, also with one that moves inside the group", () => {
    const Idle = Base.timeout(S.Reviewing, "3 days", S.Expired, { idle: true })
    const passes = [E.Submit(), advance("2 days"), E.Next(), advance("2 days"), E.Ping(), advance("2 days")]
    expect(simulate(Idle, undefined, passes).state._tag).toBe("Legal")
    expect(simulate(Idle, undefined, [...passes, advance("1 day")]).state._tag).toBe("Expired")
  })

  it("measures inner and outer groups and states each by itself", () => {
    const Nested = Base.timeout(S.Reviewing, "10 days", S.Expired)
      .timeout(S.Formal, "3 days", S.Peer, { name: "formal" })
      .timeout(S.Legal, "2 days", S.Privacy, { name: "legal" })
    const run = simulate(Nested, undefined, [E.Submit(), E.Next(), advance("2 days"), advance("1 day"), advance("7 days")])
    expect(run.path).toEqual(["Draft", "Peer", "Legal", "Privacy", "Peer", "Expired"])
  })

  it("names its group in the event, and is found by the name alone too, as journals of before have it", () => {
    const named = Machine.decide(Timed, S.Legal({ id: "d" }), timeoutEvent("Reviewing/timeout"))
    assert(named._tag === "Goto")
    expect(named.state).toEqual(S.Expired({ id: "d" }))
    expect(Machine.decide(Timed, S.Legal({ id: "d" }), timeoutEvent("timeout"))).toMatchObject({ _tag: "Goto", state: named.state })
    const Each = Base.timeout(S.Reviewing, "3 days", S.Expired, { each: true })
    expect(Machine.decide(Each, S.Legal({ id: "d" }), timeoutEvent("Reviewing/timeout"))).toMatchObject({ _tag: "Goto" })
  })

  it("is refused beside one of the same name inside the group or around it", () => {
    const legal = () => (Timed as unknown as { timeout: (...args: ReadonlyArray<unknown>) => unknown }).timeout(S.Legal, "1 day", S.Peer)
    expect(legal).toThrow(/Legal × \(timeout\) is declared beside Reviewing × \(timeout\).*give one of them a name/s)
    const both = () => Base.timeout([S.Reviewing, S.Legal], "1 day", S.Expired)
    expect(both).toThrow(/declared beside/)
  })

  it.effect("runs on the clock of an actor", () =>
    Effect.gen(function* () {
      const actor = yield* spawn(Timed, undefined)
      yield* actor.send(E.Submit())
      yield* TestClock.adjust("2 days")
      yield* actor.send(E.Next())
      yield* TestClock.adjust("23 hours")
      expect((yield* actor.state)._tag).toBe("Legal")
      yield* TestClock.adjust("1 hour")
      expect((yield* actor.state)._tag).toBe("Expired")
    }),
  )

  it("is seen by an exploration in every state of the group", () => {
    const report = explore(Timed)
    const timeouts = report.observedTargets.filter(({ event }) => event === "(Reviewing/timeout)")
    expect(timeouts.map(({ state, targets }) => [state, targets.map(({ target }) => target)])).toEqual([
      ["Peer", ["Expired"]],
      ["Legal", ["Expired"]],
      ["Privacy", ["Expired"]],
    ])
    expect(report.unreachable).toEqual([])
  })
})

describe("enter and exit of a group", () => {
  const hooks = (log: Array<string>) => {
    const note = (text: string) => () => void log.push(text)
    return Base.enter(S.Reviewing, note("+Reviewing"))
      .exit(S.Reviewing, note("-Reviewing"))
      .enter(S.Formal, note("+Formal"))
      .exit(S.Formal, note("-Formal"))
      .enter([S.Peer, S.Legal, S.Privacy], ({ state }) => void log.push(`+${state._tag}`))
      .exit([S.Peer, S.Legal, S.Privacy], ({ state }) => void log.push(`-${state._tag}`))
  }
  const logOf = (...events: ReadonlyArray<Machine.EventOf<typeof Base>>) => {
    const log: Array<string> = []
    simulate(hooks(log), undefined, events)
    return log
  }

  it("162 run from outside in on entering, from inside out on leaving, and not for moves inside", () => {
    expect(logOf(E.Submit())).toEqual(["+Reviewing", "+Peer"])
    expect(logOf(E.Submit(), E.Next()).slice(2)).toEqual(["-Peer", "+Formal", "+Legal"])
    expect(logOf(E.Submit(), E.Next(), E.Next()).slice(5)).toEqual(["-Legal", "+Privacy"])
    expect(logOf(E.Submit(), E.Next(), E.Withdraw()).slice(5)).toEqual(["-Legal", "-Formal", "-Reviewing"])
    expect(logOf(E.Submit(), E.Next(), E.Back()).slice(5)).toEqual(["-Legal", "-Formal", "+Peer"])
  })

  it("162 stop leaves every group; a reenter of the group leaves and enters it with all that is inside", () => {
    expect(logOf(E.Submit(), E.Next(), E.Halt()).slice(5)).toEqual(["-Legal", "-Formal", "-Reviewing"])
    expect(logOf(E.Submit(), E.Next(), E.Again()).slice(5)).toEqual(["-Legal", "-Formal", "-Reviewing", "+Reviewing", "+Formal", "+Legal"])
  })

  it("runs where a machine begins inside the group", () => {
    const log: Array<string> = []
    simulate(hooks(log), S.Legal({ id: "d" }), [])
    expect(log).toEqual(["+Reviewing", "+Formal", "+Legal"])
  })

  it("requests effects with the transition that enters or leaves the group", () => {
    const effects = Slot.Effects({ notify: { what: Schema.String } })
    const machine = Machine.make({ name: "notified", state: S, event: E, effects, initial: S.Draft({ id: "d" }) })
      .on(S.Draft, E.Submit, S.Peer)
      .on(S.Peer, E.Next, S.Legal)
      .enter(S.Reviewing, ({ effects, state }) => effects.notify({ what: state._tag }), { requests: ["notify"] })
    expect(simulate(machine, undefined, [E.Submit(), E.Next()]).requests).toEqual([{ slot: "notify", parameters: { what: "Peer" } }])
    expect(machine.blueprint.stateGroups.find(({ name }) => name === "Reviewing")?.stay?.requestsOnEnter).toEqual(["notify"])
  })
})

describe("work of a group", () => {
  const worked = (log: Array<string>) =>
    Base.spawn(S.Reviewing, ({ state }) =>
      Effect.acquireUseRelease(
        Effect.sync(() => log.push(`start in ${state._tag}`)),
        () => Effect.never,
        () => Effect.sync(() => log.push("end")),
      ),
    )

  it.effect("161 starts when the group is entered, survives moves between its states, and ends when it is left", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const actor = yield* spawn(worked(log), undefined)
      yield* actor.send(E.Submit())
      yield* actor.send(E.Next())
      yield* actor.send(E.Next())
      expect(log).toEqual(["start in Peer"])
      yield* actor.send(E.Withdraw())
      expect(log).toEqual(["start in Peer", "end"])
      yield* actor.send(E.Submit())
      yield* actor.send(E.Again())
      expect(log.slice(2)).toEqual(["start in Peer", "end", "start in Peer"])
      yield* actor.stop()
      expect(log.at(-1)).toBe("end")
    }),
  )

  it.effect("sends what its task ends with to whatever state of the group the actor is in", () =>
    Effect.gen(function* () {
      const machine = Base.task(S.Reviewing, () => Effect.sleep("1 hour"), {
        onSuccess: (_, { state }) => (state._tag === "Privacy" ? E.Withdraw() : E.Ping()),
        onFailure: () => E.Ping(),
      })
      const actor = yield* spawn(machine, undefined)
      yield* actor.send(E.Submit())
      yield* TestClock.adjust("30 minutes")
      yield* actor.send(E.Next())
      yield* actor.send(E.Next())
      yield* TestClock.adjust("30 minutes")
      expect((yield* actor.state)._tag).toBe("Draft")
    }),
  )

  it.effect("is restarted as often as the supervision says, moves inside the group not forgetting its failures", () =>
    Effect.gen(function* () {
      let runs = 0
      const machine = Machine.make({
        name: "supervised",
        state: S,
        event: E,
        initial: S.Peer({ id: "p" }),
        supervision: Schedule.recurs(2),
      })
        .on(S.Peer, E.Next, S.Legal)
        .on(S.Legal, E.Next, S.Privacy)
        .spawn(S.Reviewing, () => {
          runs++
          return Effect.andThen(Effect.sleep("1 minute"), Effect.fail("broken"))
        })
      const actor = yield* spawn(machine, undefined)
      yield* TestClock.adjust("1 minute")
      yield* actor.send(E.Next())
      yield* TestClock.adjust("1 minute")
      yield* actor.send(E.Next())
      yield* TestClock.adjust("1 minute")
      expect(runs).toBe(3)
      expect((yield* actor.snapshot).status).toBe("failed")
    }),
  )
})

describe("a member's transition beside that of its group", () => {
  const seen = ({ state }: { readonly state: { readonly id: string } }) => state.id
  const Falling = Machine.make({ name: "falling", state: S, event: E, initial: S.Draft({ id: "d" }) })
    .on(S.Reviewing, E.Withdraw, S.Draft, { guard: (context) => seen(context) !== "stuck", guardName: "free" })
    .on(S.Formal, E.Withdraw, S.Expired, { fallThrough: true, guard: (context) => seen(context) === "formal", guardName: "is formal" })
    .on(S.Legal, E.Withdraw, S.Privacy, { fallThrough: true, guard: (context) => seen(context) === "legal", guardName: "is legal" })

  it("164 has its turn first; where its guard says no, the groups have theirs from inside out", () => {
    const to = (state: Machine.StateOf<typeof Falling>) => {
      const decision = Machine.decide(Falling, state, E.Withdraw())
      return decision._tag === "Goto" ? decision.state._tag : decision._tag === "Refused" ? decision.error.message : decision._tag
    }
    expect(to(S.Legal({ id: "legal" }))).toBe("Privacy")
    expect(to(S.Legal({ id: "formal" }))).toBe("Expired")
    expect(to(S.Legal({ id: "other" }))).toBe("Draft")
    expect(to(S.Privacy({ id: "legal" }))).toBe("Draft")
    expect(to(S.Peer({ id: "formal" }))).toBe("Draft")
    expect(to(S.Legal({ id: "stuck" }))).toMatch(/free does not hold/)
  })

  it("164 journals what each guard said: a replay asks none", () => {
    const decision = Machine.decide(Falling, S.Legal({ id: "formal" }), E.Withdraw())
    assert(decision._tag === "Goto")
    expect(decision.guardAnswers).toEqual([false, true])
    const replayed = Machine.replay(Falling, S.Legal({ id: "anything" }), E.Withdraw(), 0, decision.guardAnswers)
    expect(replayed).toMatchObject({ _tag: "Goto", state: { _tag: "Expired" } })
  })

  it("164 is in the blueprint beside what it falls through to, and explored with it", () => {
    const legal = Falling.blueprint.transitions.filter(({ from }) => from === "Legal")
    expect(legal.map(({ guards }) => guards)).toEqual([["free"], ["is formal"], ["is legal"]])
    expect(explore(Falling).neverProduced.map(({ target }) => target)).not.toContain("Draft")
  })

  it("164 is refused without a guard, and without anything to fall through to", () => {
    const on = (machine: object, ...args: ReadonlyArray<unknown>) =>
      (machine as { readonly on: (...args: ReadonlyArray<unknown>) => unknown }).on(...args)
    expect(() => on(Falling, S.Legal, E.Withdraw, S.Peer, { fallThrough: true })).toThrow(/falls through without a guard/)
    expect(() => on(Falling, S.Legal, E.Next, S.Peer, { fallThrough: true, guard: () => true })).toThrow(/falls through to nothing/)
    const both = { fallThrough: true, override: true, guard: () => true }
    expect(() => on(Falling, S.Legal, E.Withdraw, S.Peer, both)).toThrow(/pass one of the two/)
  })
})

describe("a task that throws", () => {
  const Work = State({ Busy: {}, Done: { how: Schema.String } })
  const Outcome = Event({ Ended: { how: Schema.String } })
  const machine = (
    work: () => Effect.Effect<number, string>,
    onDefect?: (defect: unknown) => { readonly _tag: "Ended"; readonly how: string },
  ) =>
    Machine.make({ name: "task", state: Work, event: Outcome, initial: Work.Busy() })
      .on(Work.Busy, Outcome.Ended, Work.Done)
      .task(Work.Busy, work, {
        onSuccess: () => Outcome.Ended({ how: "success" }),
        onFailure: (error) => Outcome.Ended({ how: `failure: ${error}` }),
        ...(onDefect === undefined ? {} : { onDefect }),
      })
  const onDefect = (defect: unknown) => Outcome.Ended({ how: `defect: ${String(defect)}` })
  const throws = () => {
    throw new Error("thrown")
  }

  it.effect("reaches onDefect where one is given", () =>
    Effect.gen(function* () {
      const thrown = yield* spawn(machine(throws, onDefect), undefined)
      expect(yield* thrown.state).toEqual(Work.Done({ how: "defect: Error: thrown" }))
      const died = yield* spawn(
        machine(() => Effect.die("dead"), onDefect),
        undefined,
      )
      expect(yield* died.state).toEqual(Work.Done({ how: "defect: dead" }))
      const failed = yield* spawn(
        machine(() => Effect.fail("no"), onDefect),
        undefined,
      )
      expect(yield* failed.state).toEqual(Work.Done({ how: "failure: no" }))
    }),
  )

  it.effect("fails the actor where none is given", () =>
    Effect.gen(function* () {
      const actor = yield* spawn(machine(throws), undefined)
      expect((yield* actor.snapshot).status).toBe("failed")
    }),
  )
})

describe("raised events", () => {
  const Q = State({ Open: { seen: Schema.Array(Schema.String) } })
  const R = Event({ Go: {}, A: {}, B: {}, C: {}, Boom: {} })
  const note = (state: { readonly seen: ReadonlyArray<string> }, tag: string) => Q.Open({ seen: [...state.seen, tag] })
  const machine = Machine.make({ name: "queue", state: Q, event: R, initial: Q.Open({ seen: [] }) })
    .on(Q.Open, R.Go, Q.Open, ({ state, self }) => {
      self.send(R.A())
      self.send(R.B())
      return state
    })
    .on(Q.Open, R.A, Q.Open, ({ state, self }) => {
      self.send(R.C())
      return note(state, "A")
    })
    .on(Q.Open, [R.B, R.C], Q.Open, ({ state, event }) => note(state, event._tag))
    .on(Q.Open, R.Boom, Q.Open, ({ state, self }) => {
      self.send(R.Boom())
      self.send(R.Boom())
      return state
    })

  it("146 are handled first in, first out, in a simulation", () => {
    expect(simulate(machine, undefined, [R.Go()]).state.seen).toEqual(["A", "B", "C"])
  })

  it.effect("146 are handled first in, first out, by an actor", () =>
    Effect.gen(function* () {
      const actor = yield* spawn(machine, undefined)
      yield* actor.send(R.Go())
      expect((yield* actor.state).seen).toEqual(["A", "B", "C"])
    }),
  )
})

describe("a group as a target", () => {
  const D = State({
    Off: { id: Schema.String },
    On: State.group(
      {
        Warm: State.group({ Low: { id: Schema.String }, High: { id: Schema.String, level: Schema.Number } }, { initial: "Low" }),
        Hot: { id: Schema.String },
        Full: { id: Schema.String },
      },
      { initial: "Warm" },
    ),
  })
  const V = Event({
    Start: {},
    Raise: { level: Schema.Number },
    Heat: {},
    Fill: {},
    Break: {},
    Back: {},
    DeepBack: {},
    Rename: { id: Schema.String },
    Filled: {},
  })
  const Stove = Machine.make({ name: "stove", state: D, event: V, initial: D.Off({ id: "s" }) })
    .on(D.Off, V.Start, D.On)
    .on(D.Low, V.Raise, D.High)
    .on([D.Low, D.High], V.Heat, D.Hot)
    .on(D.Hot, V.Start, D.Warm)
    .on(D.Hot, V.Fill, D.Full)
    .on(D.On, V.Break, D.Off)
    .on(D.Off, V.Rename, D.Off)
    .on(D.Off, V.Back, history(D.On))
    .on(D.Off, V.DeepBack, history(D.On, "deep"))
    .done(D.On, D.Full, V.Filled())
    .on(D.Full, V.Filled, D.Off)
  const after = (...events: ReadonlyArray<Machine.EventOf<typeof Stove>>) => simulate(Stove, undefined, events).state

  it("163 is entered at its initial member, a nested one at that of the inner group", () => {
    expect(after(V.Start())).toEqual(D.Low({ id: "s" }))
    expect(after(V.Start(), V.Heat(), V.Start())).toEqual(D.Low({ id: "s" }))
    expect(Stove.blueprint.stateGroups.map(({ name, initial }) => [name, initial])).toEqual([
      ["On", "Low"],
      ["Warm", "Low"],
    ])
  })

  it("163 a decision whose target is a group may return any of its states", () => {
    const machine = Machine.make({ name: "chosen", state: D, event: V, initial: D.Off({ id: "s" }) }).on(
      D.Off,
      V.Start,
      D.On,
      ({ state }) => (state.id === "s" ? D.Hot(state) : D.Low(state)),
    )
    expect(simulate(machine, undefined, [V.Start()]).state).toEqual(D.Hot({ id: "s" }))
  })

  it("163 history leads back to the state in which the group was left, with the data of then", () => {
    expect(after(V.Start(), V.Heat(), V.Break(), V.Back())).toEqual(D.Hot({ id: "s" }))
    expect(after(V.Start(), V.Raise({ level: 3 }), V.Break(), V.DeepBack())).toEqual(D.High({ id: "s", level: 3 }))
    expect(after(V.Start(), V.Raise({ level: 3 }), V.Break(), V.Rename({ id: "t" }), V.DeepBack())).toEqual(D.High({ id: "t", level: 3 }))
  })

  it("163 a shallow history enters the inner group anew, and both fall back to the initial member", () => {
    expect(after(V.Start(), V.Raise({ level: 3 }), V.Break(), V.Back())).toEqual(D.Low({ id: "s" }))
    expect(after(V.Back())).toEqual(D.Low({ id: "s" }))
    expect(after(V.DeepBack())).toEqual(D.Low({ id: "s" }))
  })

  it("162 { reenter: true } leaves what is around both the state and its target, which otherwise lasts", () => {
    const log: Array<string> = []
    const noted = (reenter: boolean) =>
      Machine.make({ name: "stove", state: D, event: V, initial: D.Hot({ id: "s" }) })
        .on(D.On, V.Start, D.On, { reenter })
        .on(D.On, V.Fill, D.Full, { reenter })
        .on(D.Hot, V.Back, history(D.On), { reenter })
        .enter(D.On, () => void log.push("+On"))
        .exit(D.On, () => void log.push("-On"))
    const logOf = (reenter: boolean, event: Machine.EventOf<typeof Stove>) => {
      log.length = 0
      const { path } = simulate(noted(reenter), undefined, [event])
      return [...log.slice(1), path.at(-1)]
    }
    expect(logOf(false, V.Start())).toEqual(["Low"])
    expect(logOf(true, V.Start())).toEqual(["-On", "+On", "Low"])
    expect(logOf(false, V.Fill())).toEqual(["Full"])
    expect(logOf(true, V.Fill())).toEqual(["-On", "+On", "Full"])
    expect(logOf(false, V.Back())).toEqual(["Low"])
  })

  it("163 a decision may return history, where it is listed", () => {
    const machine = Stove.on(D.Off, V.Back, [history(D.On), D.Hot], ({ state }) => (state.id === "s" ? history(D.On) : D.Hot(state)), {
      override: true,
    })
    expect(simulate(machine, undefined, [V.Start(), V.Break(), V.Back()]).state._tag).toBe("Low")
    const bad = Stove.on(D.Off, V.Back, D.Hot, (() => history(D.On)) as never, { override: true })
    const decision = Machine.decide(bad, D.Off({ id: "s" }), V.Back())
    expect(decision._tag === "Refused" && decision.error.message).toMatch(/returned @history/)
  })

  it("163 history travels with the state and is part of nothing that is seen", () => {
    const left = simulate(Stove, undefined, [V.Start(), V.Heat(), V.Break()]).state
    expect(left).toEqual(D.Off({ id: "s" }))
    expect(JSON.stringify(left)).toBe('{"_tag":"Off","id":"s"}')
    expect(Machine.decide(Stove, left, V.Back())).toMatchObject({ _tag: "Goto", state: { _tag: "Hot" } })
    expect(Machine.decide(Stove, { ...left }, V.Back())).toMatchObject({ _tag: "Goto", state: { _tag: "Low" } })
  })

  it("163 reaching a member that completes the group raises the event", () => {
    const run = simulate(Stove, undefined, [V.Start(), V.Heat(), V.Fill()])
    expect(run.path).toEqual(["Off", "Low", "Hot", "Full", "Off"])
    expect(Stove.blueprint.states.find(({ tag }) => tag === "Full")?.completes).toEqual(["On"])
  })

  it("is refused from JavaScript where it names no initial member", () => {
    const on = (...args: ReadonlyArray<unknown>) =>
      (Base as unknown as { readonly on: (...args: ReadonlyArray<unknown>) => unknown }).on(...args)
    expect(() => on(S.Expired, E.Submit, S.Reviewing)).toThrow(/Reviewing is a group that names no initial member/)
    expect(() => State.group({ A: {} }, { initial: "B" as "A" }) && State({ G: State.group({ A: {} }, { initial: "B" as "A" }) })).toThrow(
      /B is not a member of G/,
    )
    expect(() => State({ G: State.group({ H: State.group({ A: {} }) }, { initial: "H" }) })).toThrow(
      /H, the initial member of G, is a group/,
    )
  })

  it("is explored and drawn with its history", () => {
    expect(explore(Stove).unreachable).toEqual([])
    expect(Mermaid.stateDiagram(Stove)).toContain("--> Low : Back (H)")
    expect(Mermaid.stateDiagram(Stove)).toContain("--> Low : DeepBack (H#42;)")
  })
})

describe("meta", () => {
  const machine = Base.meta(S.Reviewing, { tags: ["waiting"], description: "Somewhere in review" }).meta([S.Legal, S.Privacy], {
    tags: ["lawyer"],
  })

  it("is in the blueprint of states and groups, and in diagrams", () => {
    const { states, stateGroups } = machine.blueprint
    expect(states.find(({ tag }) => tag === "Legal")?.tags).toEqual(["lawyer"])
    expect(stateGroups.find(({ name }) => name === "Reviewing")).toMatchObject({ tags: ["waiting"], description: "Somewhere in review" })
    const drawn = Mermaid.stateDiagram(machine)
    expect(drawn).toContain("Legal : #35;lawyer")
    expect(drawn).toContain('state "Reviewing · Somewhere in review · #35;waiting" as Reviewing {')
  })

  it("adds tags, and replaces the description", () => {
    const again = machine.meta(S.Legal, { tags: ["slow", "lawyer"], description: "With counsel" })
    expect(again.blueprint.states.find(({ tag }) => tag === "Legal")).toMatchObject({
      tags: ["lawyer", "slow"],
      description: "With counsel",
    })
  })
})
