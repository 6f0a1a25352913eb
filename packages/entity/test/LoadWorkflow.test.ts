import { Machine } from "@detent/machine"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { EntityWorkflow, EntityWorkflowError } from "../src/index.ts"
import { makeRegistry, ticket, World } from "./tickets.ts"

const registry = makeRegistry(new World())

const load = (text: string) => Effect.runSync(Effect.result(EntityWorkflow.fromJson(text, registry, { file: "desk.json" })))

/** The lines of what is wrong with a text. */
const problems = (text: string): ReadonlyArray<string> => {
  const loaded = load(text)
  if (loaded._tag === "Success") return []
  expect(loaded.failure).toBeInstanceOf(EntityWorkflowError)
  return loaded.failure.message.split("\n")
}

const good = `{
  "name": "desk",
  "initial": "new",
  "states": ["new", "open", "closed"],
  "transitions": [
    { "name": "open", "from": "new", "to": "open", "manual": true, "processors": ["a"] },
    { "name": "close", "from": ["new", "open"], "to": "closed", "manual": true, "criteria": ["small"] }
  ]
}
`

const changed = (from: string, to: string): string => {
  expect(good).toContain(from)
  return good.replace(from, to)
}

describe("a workflow file", () => {
  it("that is sound becomes a machine", () => {
    const loaded = load(good)
    if (loaded._tag === "Failure") throw loaded.failure
    expect(Machine.begin(loaded.success.machine, ticket())).toMatchObject({ state: { _tag: "new" } })
    expect(loaded.success).toMatchObject({ name: "desk", version: 1 })
  })

  it.each([
    [
      '"to": "closed"',
      '"to": "close"',
      'desk.json:7:55: transition "close" leads to "close", which is not a state; did you mean "closed"?',
    ],
    [
      '["new", "open"]',
      '["new", "opened"]',
      'desk.json:7:40: transition "close" leaves "opened", which is not a state; did you mean "open"?',
    ],
    ['"initial": "new"', '"initial": "begin"', 'desk.json:3:14: the initial state "begin", which is not a state'],
    ['["a"]', '["aa"]', 'desk.json:6:83: transition "open" names the processor "aa", which is not registered; did you mean "a"?'],
    [
      '["small"]',
      '["tiny"]',
      'desk.json:7:94: transition "close" names the criterion "tiny", which is not registered; register it, or use one of small, big',
    ],
    ['"manual": true, "p', '"manuel": true, "p', 'desk.json:6:62: there is no field "manuel" here; did you mean "manual"?'],
    ['"name": "desk"', '"nmae": "desk"', "desk.json:1:1: name: Missing key"],
    ['"states": ["new", "open", "closed"]', '"states": "new"', "desk.json:4:13: states: Expected array"],
    [
      '"states": ["new", "open", "closed"]',
      '"states": ["new", "open", "closed", "new"]',
      'desk.json:4:39: the state "new" is there twice; remove one',
    ],
    ['"name": "close"', '"name": "open"', 'desk.json:7:15: "new" has the transition "open" already, in transitions[0]'],
    ['"name": "close"', '"name": "update"', 'desk.json:7:15: "update" is the event that changes an entity; choose another name'],
    ['"initial": "new"', '"failure": "closed", "initial": "new"', 'desk.json:3:14: "closed" is not a transition; did you mean "close"?'],
    [
      '"initial": "new"',
      '"initial": "closed"',
      'desk.json:3:14: "closed" is an end, so no transition could be taken; add a transition that names it, or list "ends"',
    ],
    [
      '"initial": "new"',
      '"ends": ["open"], "initial": "new"',
      'desk.json:7:40: transition "close" leaves "open", which is listed in "ends"',
    ],
    [
      '["a"]',
      '[{ "name": "book", "retry": { "attempts": 0 } }]',
      "desk.json:6:124: transitions[0].processors[0].retry.attempts: Expected a value between 1 and 1000000",
    ],
    ['["a"]', '[{ "name": "book", "retry": { "attempts": 2, "delay": "soon" } }]', 'retry.delay: Expected a duration such as "30 seconds"'],
    ['"name": "desk"', '"__proto__": { "name": "x" }, "name": "desk"', 'desk.json:2:3: there is no field "__proto__" here; remove it'],
    ['"name": "desk"', '"name": "desk", "name": "other"', 'desk.json:2:19: the field "name" is there twice; remove one'],
    ['"new", "open", "closed"]', '"new", "open", "closed", "__proto__"]', "states[3]: Expected a name of 1 to 100 characters"],
    ['"new", "open", "closed"]', '"new", "open", "closed", "*"]', "states[3]: Expected a name of 1 to 100 characters"],
    ['"new", "open", "closed"]', '"new", "open", "closed", ""]', "states[3]: Expected a name of 1 to 100 characters"],
    ['"new", "open", "closed"]', `"new", "open", "closed", "${"x".repeat(100_000)}"]`, "states[3]: Expected a name of 1 to 100 characters"],
  ])("with %s instead written as %s is refused at its place", (from, to, message) => {
    const found = problems(changed(from, to))
    expect(found.join("\n")).toContain(message)
  })

  it("is refused with everything that is wrong with it, in the order of the file", () => {
    const text = changed('"to": "open"', '"to": "opne"').replace('["small"]', '["smal"]').replace('"initial": "new"', '"initial": "nwe"')
    expect(problems(text).map((line) => line.split(": ")[0])).toEqual(["desk.json:3:14", "desk.json:6:44", "desk.json:7:94"])
  })

  it("whose automatic transitions form a circle without any criterion is refused", () => {
    const text = `{ "name": "circle", "initial": "a", "states": ["a", "b", "c"], "transitions": [
      { "name": "one", "from": "a", "to": "b" },
      { "name": "two", "from": "b", "to": "c", "processors": ["a"] },
      { "name": "three", "from": "c", "to": "b" } ] }`
    expect(problems(text)).toEqual([
      "desk.json:4:7: b → c → b: automatic transitions without criteria never end; give one of them criteria",
    ])
  })

  it("can hold 10,000 states, with a transition from any of them", () => {
    const states = Array.from({ length: 10_000 }, (_, index) => `state ${index}`)
    const text = JSON.stringify({
      name: "large",
      initial: states[0],
      states,
      ends: [states.at(-1)],
      transitions: [
        ...states.slice(1).map((to, index) => ({ name: "next", from: states[index], to, manual: true, processors: ["a"] })),
        { name: "skip", from: "*", to: states.at(-1), manual: true },
      ],
    })
    const loaded = load(text)
    if (loaded._tag === "Failure") throw loaded.failure
    const { machine, trigger } = loaded.success
    const first = Machine.begin(machine, ticket())
    if (first._tag !== "Beginning") throw first.error
    const next = Machine.decide(machine, first.state, trigger("next"))
    expect(next).toMatchObject({ _tag: "Goto", state: { _tag: "state 1", entity: { log: ["a"] } } })
    expect(Machine.decide(machine, first.state, trigger("skip"))).toMatchObject({ state: { _tag: "state 9999" } })
  })

  it("with thousands of mistakes is refused with the first hundred", () => {
    const transitions = Array.from({ length: 20_000 }, (_, index) => ({ name: `t${index}`, from: "nowhere", to: "somewhere" }))
    const states = Array.from({ length: 5000 }, (_, index) => `state number ${index}`)
    const loaded = load(JSON.stringify({ name: "wrong", initial: states[0], states, transitions }, undefined, 2))
    if (loaded._tag === "Success") throw new Error("it was accepted")
    expect(loaded.failure.problems).toHaveLength(100)
    expect(loaded.failure.message.split("\n").at(-1)).toBe("desk.json: and many more problems")
  })

  it("with more pairs of states and transitions than the limit is refused", () => {
    const states = Array.from({ length: 10_000 }, (_, index) => `s${index}`)
    const transitions = Array.from({ length: 1000 }, (_, index) => ({ name: `t${index}`, from: "*", to: "s1", manual: true }))
    expect(problems(JSON.stringify({ name: "huge", initial: "s0", states, ends: ["s1"], transitions }))).toEqual([
      expect.stringContaining("1000 transitions from any of 10000 states are too many; name their states"),
    ])
  })
})

describe("a workflow in TypeScript", () => {
  it("that cannot work throws with the place in the data", () => {
    const make = () =>
      EntityWorkflow.make(registry, {
        name: "desk",
        states: ["new", "open"],
        initial: "new",
        // As a program in plain JavaScript might have it.
        transitions: [{ name: "open", from: "new", to: "opne" as "open", processors: ["nothing" as "a"] }],
      })
    expect(make).toThrow(EntityWorkflowError)
    expect(make).toThrow(
      'entity workflow desk: transitions[0].to: transition "open" leads to "opne", which is not a state; did you mean "open"?',
    )
    expect(make).toThrow('transition "open" names the processor "nothing", which is not registered')
  })
})
