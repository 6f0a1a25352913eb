/**
 * Identifiers for notations that need them. A name that is a plain word stands for itself, so that the text stays
 * readable; any other gets a short alias.
 */
import { type Scene, startKey } from "./Scene.ts"

// Words that Mermaid's lexers read as the start of a statement, or that name something on every JavaScript object.
const reserved = new Set(
  (
    "accdescr acctitle actor and as break bt call choice class classdef click create default destroy direction edge else end flowchart fork " +
    "graph hide href interpolate join left link links linkstyle loop lr node note off opt over par participant rect right rl root scale " +
    "sequencediagram start state statediagram strict style subgraph swimlane tb td title v digraph br " +
    "constructor hasownproperty isprototypeof propertyisenumerable tolocalestring tostring valueof"
  ).split(" "),
)

const isPlain = (name: string): boolean => /^[A-Za-z][A-Za-z0-9_]{0,39}$/.test(name) && !reserved.has(name.toLowerCase())

interface Named {
  /** Distinguishes a state from a group of the same name. */
  readonly key: string
  readonly name: string
  /** The prefix of its alias. */
  readonly letter: string
}

/** From the key of anything in the scene to its identifier. */
export const ofScene = (scene: Scene): ((key: string) => string) =>
  make([
    ...scene.boxes.map((box) => ({ key: box.key, name: box.name, letter: "s" })),
    ...scene.groups.map((group) => ({ key: group.key, name: group.name, letter: "g" })),
    // These have no name of their own: an empty name always gets an alias.
    ...(scene.any === undefined ? [] : [{ key: scene.any.key, name: "", letter: "any" }]),
    ...scene.stops.map((stop) => ({ key: stop.key, name: "", letter: "stop" })),
    { key: startKey, name: "", letter: "initial" },
  ])

const make = (all: ReadonlyArray<Named>): ((key: string) => string) => {
  const taken = new Set(all.map((one) => one.name))
  const byKey = new Map<string, string>()
  const used = new Set<string>()
  for (const { key, name, letter } of all) {
    let identifier = name
    if (!isPlain(name) || used.has(name)) {
      let number = 1
      // An alias must not be the name of something else.
      while (taken.has(`${letter}${number}`) || used.has(`${letter}${number}`)) number++
      identifier = `${letter}${number}`
    }
    used.add(identifier)
    byKey.set(key, identifier)
  }
  return (key) => byKey.get(key) ?? key
}
