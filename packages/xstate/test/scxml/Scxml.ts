/**
 * Translates SCXML charts to XState machines, as far as both mean the same: states, transitions, history, conditions, assignments,
 * raised and delayed events. Charts with other content are not translated.
 */
import { type AnyStateMachine, assign, cancel, createMachine, enqueueActions, not, raise, sendTo, stateIn } from "xstate"
import { type Element, parseXml } from "./Xml.ts"

export class NotTranslated extends Error {}

interface Context {
  readonly vars: Readonly<Record<string, unknown>>
}

interface Received {
  readonly context: Context
  readonly event: { readonly type: string; readonly data?: unknown }
}

/** The chart, and the names of its states by the ids that XState knows them by. */
export interface Translated {
  readonly machine: AnyStateMachine
  readonly nameOf: (id: string) => string
}

export const translate = (source: string, id: string): Translated => {
  const root = parseXml(source)
  const names = new Map<string, string>()
  const states = statesOf(root, names)
  if (states === undefined) throw new NotTranslated("no states")
  const variables = dataOf(root)
  const scripts = root.children.filter(({ name }) => name === "script")
  const machine = createMachine({
    id,
    context: () => ({ vars: scripts.reduce((vars, { text }) => executed(text, vars, undefined), initialData(variables)) }),
    ...states,
    ...initialOf(root, states),
  } as never)
  return { machine, nameOf: (state) => names.get(state) ?? state }
}

const stateElements = new Set(["state", "parallel", "final", "history"])

/** XState separates paths by dots, and SCXML ids may have them. */
const idOf = (name: string): string => name.replaceAll(".", "_dot_")

let anonymous = 0

const statesOf = (element: Element, names: Map<string, string>): object | undefined => {
  const inside = element.children.filter(({ name }) => stateElements.has(name))
  if (inside.length === 0) return undefined
  return {
    states: Object.fromEntries(
      inside.map((child) => {
        const name = child.attributes["id"] ?? `anonymous${anonymous++}`
        names.set(idOf(name), name)
        return [idOf(name), stateOf(child, idOf(name), names)]
      }),
    ),
  }
}

const stateOf = (element: Element, id: string, names: Map<string, string>): object => {
  if (element.name === "history") {
    const [transition] = element.children.filter(({ name }) => name === "transition")
    return { id, type: "history", history: element.attributes["type"] ?? "shallow", target: targetsOf(transition)?.[0] }
  }
  refuse(element, ["invoke", "donedata", "datamodel"])
  const transitions = element.children.filter(({ name }) => name === "transition")
  const states = statesOf(element, names)
  const on: Record<string, Array<object>> = {}
  const always: Array<object> = []
  for (const transition of transitions) {
    const { event, type } = transition.attributes
    const translated = {
      ...(transition.attributes["target"] === undefined ? {} : { target: targetsOf(transition), reenter: type !== "internal" }),
      ...guardOf(transition.attributes["cond"]),
      actions: actionsOf(transition.children),
    }
    if (event === undefined) always.push(translated)
    else {
      for (const descriptor of event.split(/\s+/).map(descriptorOf)) on[descriptor] = [...(on[descriptor] ?? []), translated]
    }
  }
  return {
    id,
    ...(element.name === "parallel" ? { type: "parallel" } : element.name === "final" ? { type: "final" } : {}),
    entry: element.children.filter(({ name }) => name === "onentry").flatMap(({ children }) => actionsOf(children)),
    exit: element.children.filter(({ name }) => name === "onexit").flatMap(({ children }) => actionsOf(children)),
    ...(Object.keys(on).length === 0 ? {} : { on }),
    ...(always.length === 0 ? {} : { always }),
    ...states,
    ...(element.name === "state" ? initialOf(element, states) : {}),
  }
}

const refuse = (element: Element, unsupported: ReadonlyArray<string>) => {
  const found = element.children.find(({ name }) => unsupported.includes(name))
  if (found !== undefined) throw new NotTranslated(`<${found.name}>`)
}

/** `foo` also means `foo.bar`; XState takes a descriptor as it is. */
const descriptorOf = (descriptor: string): string => {
  if (descriptor.startsWith("done.state.")) return `xstate.${descriptor}`
  if (descriptor.startsWith("done.") || descriptor.startsWith("error")) throw new NotTranslated(descriptor)
  return descriptor === "*" || descriptor.endsWith(".*") ? descriptor : descriptor.replace(/\.$/, "")
}

const targetsOf = (element: Element | undefined): ReadonlyArray<string> | undefined =>
  element?.attributes["target"]
    ?.trim()
    .split(/\s+/)
    .map((target) => `#${idOf(target)}`)

/** XState begins in a child. Where SCXML begins deeper, or in several states, a state before them leads there. */
const initialOf = (element: Element, states: object | undefined): object => {
  const inside = element.children.filter(({ name }) => stateElements.has(name) && name !== "history")
  if (inside.length === 0) return {}
  const [initial] = element.children.filter(({ name }) => name === "initial")
  const [transition] = initial?.children.filter(({ name }) => name === "transition") ?? []
  const named = element.attributes["initial"]
    ?.trim()
    .split(/\s+/)
    .map((target) => `#${idOf(target)}`)
  const actions = transition === undefined ? [] : actionsOf(transition.children)
  const children = (states as { readonly states: Readonly<Record<string, { readonly type?: string }>> }).states
  const target = named ?? targetsOf(transition) ?? [`#${Object.keys(children).find((key) => children[key]?.type !== "history") ?? ""}`]
  const key = target[0]?.slice(1) ?? ""
  if (target.length === 1 && children[key] !== undefined) return { initial: { target: key, actions } }
  const before = `before${anonymous++}`
  return { initial: before, states: { ...children, [before]: { always: { target, actions } } } }
}

const dataOf = (root: Element): ReadonlyArray<Element> =>
  root.children.filter(({ name }) => name === "datamodel").flatMap(({ children }) => children)

const initialData = (data: ReadonlyArray<Element>): Readonly<Record<string, unknown>> => {
  const vars: Record<string, unknown> = {}
  for (const { attributes, text } of data) {
    if (attributes["src"] !== undefined) throw new NotTranslated("<data src>")
    vars[attributes["id"] ?? ""] = evaluated(attributes["expr"] ?? (text.trim() === "" ? "null" : text), vars, undefined)
  }
  return vars
}

/** Expressions of the chart are its own code, read from the development dependency. */
const evaluated = (expression: string, vars: object, event: Received["event"] | undefined): unknown => {
  const run = new Function("vars", "_event", `with (vars) { return (${expression}) }`)
  return run(vars, eventData(event)) as unknown
}

const executed = (script: string, vars: object, event: Received["event"] | undefined): Readonly<Record<string, unknown>> => {
  const copy = structuredClone(vars) as Record<string, unknown>
  const declared = [...script.matchAll(/\bvar\s+([\w$]+)/g)].map(([, name]) => name as string)
  for (const name of declared) copy[name] ??= null
  new Function("vars", "_event", `with (vars) { ${script.replaceAll(/\bvar\s+/g, "")} }`)(copy, eventData(event))
  return copy
}

const eventData = (event: Received["event"] | undefined): object | undefined =>
  event === undefined ? undefined : { name: event.type, data: event.data }

const guardOf = (condition: string | undefined): object => {
  if (condition === undefined) return {}
  const inState = /^\s*(!?)\s*In\(\s*['"]([\w.-]+)['"]\s*\)\s*$/.exec(condition)
  if (inState !== null) {
    const guard = stateIn(`#${idOf(inState[2] as string)}`)
    return { guard: inState[1] === "!" ? not(guard as never) : guard }
  }
  if (/\bIn\(/.test(condition)) throw new NotTranslated("In() inside of an expression")
  return { guard: ({ context, event }: Received) => holds(condition, context, event) }
}

/** A condition that throws does not hold. */
const holds = (condition: string, { vars }: Context, event: Received["event"]): boolean => {
  try {
    return Boolean(evaluated(condition, vars, event))
  } catch {
    return false
  }
}

const actionsOf = (elements: ReadonlyArray<Element>): ReadonlyArray<unknown> => elements.map(actionOf)

const actionOf = (element: Element): unknown => {
  const { attributes, text } = element
  switch (element.name) {
    case "assign": {
      const { location = "", expr = text } = attributes
      return assign(({ context, event }: Received) => ({ vars: executed(`${location} = (${expr})`, context.vars, event) }))
    }
    case "script":
      if (attributes["src"] !== undefined) throw new NotTranslated("<script src>")
      return assign(({ context, event }: Received) => ({ vars: executed(text, context.vars, event) }))
    case "raise":
      return raise({ type: attributes["event"] ?? "" })
    case "send":
      return sendOf(element)
    case "cancel":
      if (attributes["sendid"] === undefined) throw new NotTranslated("<cancel sendidexpr>")
      return cancel(attributes["sendid"])
    case "if":
      return choiceOf(element)
    case "log":
      return assign({})
    default:
      throw new NotTranslated(`<${element.name}>`)
  }
}

const sendOf = ({ attributes, children }: Element): unknown => {
  const { event, eventexpr, target, delay, delayexpr, id, type } = attributes
  if (type !== undefined && !type.toLowerCase().endsWith("scxml") && !type.includes("SCXMLEventProcessor"))
    throw new NotTranslated("<send type>")
  if (["typeexpr", "targetexpr", "idlocation", "namelist"].some((name) => attributes[name] !== undefined))
    throw new NotTranslated("<send ...expr>")
  if (children.some(({ name }) => name === "content")) throw new NotTranslated("<content>")
  const parameters = children.filter(({ name }) => name === "param")
  const made = ({ context, event: received }: Received) => ({
    type: eventexpr === undefined ? (event ?? "") : String(evaluated(eventexpr, context.vars, received)),
    ...(parameters.length === 0
      ? {}
      : {
          data: Object.fromEntries(
            parameters.map((one) => [
              one.attributes["name"],
              evaluated(one.attributes["expr"] ?? one.attributes["location"] ?? "", context.vars, received),
            ]),
          ),
        }),
  })
  const options = {
    ...(id === undefined ? {} : { id }),
    ...(delay === undefined && delayexpr === undefined
      ? {}
      : {
          delay:
            delayexpr === undefined
              ? millis(delay ?? "0")
              : ({ context, event: received }: Received) => millis(String(evaluated(delayexpr, context.vars, received))),
        }),
  }
  if (target === "#_internal") return raise(made as never, options as never)
  if (target !== undefined) throw new NotTranslated("<send target>")
  return "delay" in options
    ? raise(made as never, options as never)
    : sendTo(({ self }: { self: unknown }) => self as never, made as never, options as never)
}

const millis = (text: string): number => {
  const [, amount = "0", unit = "s"] = /^([\d.]+)\s*(ms|s)?$/.exec(text.trim()) ?? []
  return Number(amount) * (unit === "ms" ? 1 : 1000)
}

const choiceOf = ({ attributes, children }: Element): unknown => {
  const branches: Array<{ readonly condition: string | undefined; readonly actions: Array<unknown> }> = [
    { condition: attributes["cond"], actions: [] },
  ]
  for (const child of children) {
    if (child.name === "elseif" || child.name === "else") branches.push({ condition: child.attributes["cond"], actions: [] })
    else branches.at(-1)?.actions.push(actionOf(child))
  }
  if (branches.some(({ condition }) => condition !== undefined && /\bIn\(/.test(condition))) throw new NotTranslated("In() inside of <if>")
  return enqueueActions(({ context, event, enqueue }) => {
    const received = event as Received["event"]
    const chosen = branches.find(({ condition }) => condition === undefined || holds(condition, context as Context, received))
    for (const action of chosen?.actions ?? []) enqueue(action as never)
  })
}
