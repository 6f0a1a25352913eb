/**
 * Executable content of SCXML as XState's actions: it runs inside of `enqueueActions`, where it assigns data and enqueues what it
 * raises, sends, cancels and spawns. An error ends the block and raises an event, as SCXML has it.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { type Element, elementsOf, parseXml } from "./Xml.ts"

export type Data = Readonly<Record<string, unknown>>

export interface SessionOf {
  readonly id: string
  readonly invokeid?: string
  readonly parent?: string
}

/** The context of a translated chart. */
export interface ChartContext {
  readonly vars: Data
  readonly session: SessionOf
  /** How many ids it has made. */
  readonly count: number
  /** Errors of the first values and of the scripts of the document, which the first state raises. */
  readonly errors: ReadonlyArray<string>
  /** States whose late data have their values. */
  readonly bound: Data
  /** The data of final states. */
  readonly outputs: Data
  /** The ids of what was invoked, by the invocation. */
  readonly invoked: Readonly<Record<string, string>>
}

/** Beside its type and data: what SCXML tells of an event. */
export interface SentEvent {
  readonly type: string
  readonly data?: unknown
  readonly output?: unknown
  readonly about?: {
    readonly type: "platform" | "internal" | "external"
    readonly sendid?: string
    readonly origin?: string
    readonly origintype?: string
    readonly invokeid?: string
  }
}

/** What is the same for all sessions of a chart. */
export interface Document {
  readonly root: Element
  readonly folder: string
  /** Functions of the document's scripts: they are code, and no data. */
  readonly functions: string
  /** Variables that are declared anywhere. */
  readonly declared: ReadonlyArray<string>
  readonly nameOf: (id: string) => string
  /** The name of the actor for a document, by its source. */
  readonly actorOf: (source: string) => string | undefined
  readonly invokeIds: ReadonlySet<string>
}

export interface Options {
  readonly id?: string
  readonly delay?: number
}

/** What content does beside changing data. */
export interface Tools {
  readonly raise: (event: SentEvent) => void
  readonly send: (to: "self" | "parent" | { readonly child: string }, event: SentEvent, options: Options) => void
  readonly cancel: (id: string) => void
  readonly spawn: (actor: string, options: { readonly id: string; readonly input: object }) => void
  readonly isIn: (state: string) => boolean
}

const processor = "http://www.w3.org/TR/scxml/#SCXMLEventProcessor"
const processors = new Set([undefined, "", "scxml", processor, "http://www.w3.org/TR/scxml/"])
const chartTypes = new Set([undefined, "", "scxml", "http://www.w3.org/TR/scxml/", "http://www.w3.org/TR/scxml", "application/scxml+xml"])

class ContentError extends Error {
  readonly event: string
  readonly sendid: string | undefined
  constructor(event: string, message: string, sendid?: string) {
    super(message)
    this.event = event
    this.sendid = sendid
  }
}

/** XML in the data is kept as text, and shown to expressions as a document. */
interface StoredXml {
  readonly "(xml)": string
}

const isXml = (value: unknown): value is StoredXml => typeof value === "object" && value !== null && "(xml)" in value

const shown = (value: unknown): unknown => (isXml(value) ? domOf(parseXml(value["(xml)"]), value) : value)

/** As much of a document object as charts ask for. */
const domOf = (element: Element, stored?: StoredXml): object => ({
  ...stored,
  getAttribute: (name: string) => element.attributes[name],
  getElementsByTagName: (name: string) => inside(element).flatMap((one) => (one.name === name ? [domOf(one)] : [])),
})

const inside = (element: Element): ReadonlyArray<Element> => element.children.flatMap((one) => [one, ...inside(one)])

/** Data as it is kept: without the functions of shown documents and the classes of objects. */
const kept = (value: unknown): unknown => {
  if (typeof value !== "object" || value === null) return value
  if (isXml(value)) return { "(xml)": value["(xml)"] }
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === Array.prototype ? value : { ...value }
}

/** One object for each event, so that an expression that compares it with itself is right. */
const shownEvents = new WeakMap<object, object>()

export const shownEvent = ({ nameOf }: Pick<Document, "nameOf">, event: SentEvent | undefined): object | undefined => {
  if (event === undefined || event.type.startsWith("xstate.init")) return undefined
  const known = shownEvents.get(event)
  if (known !== undefined) return known
  const fresh = Object.freeze(describedEvent(nameOf, event))
  shownEvents.set(event, fresh)
  return fresh
}

const describedEvent = (nameOf: Document["nameOf"], { type, data, output, about }: SentEvent): object => {
  const common = { sendid: undefined, origin: undefined, origintype: undefined, invokeid: undefined }
  const [, doneState] = /^xstate\.done\.state\.(.*)$/.exec(type) ?? []
  if (doneState !== undefined) return { name: `done.state.${nameOf(doneState)}`, ...common, type: "platform", data: shown(output) }
  const [, actor] = /^xstate\.done\.actor\.(.*)$/.exec(type) ?? []
  if (actor !== undefined)
    return { name: `done.invoke.${actor}`, ...common, type: "external", invokeid: actor, data: shown(output ?? undefined) }
  return { name: type, ...common, type: "external", ...about, data: shown(data) }
}

const processorsOf = new Map<string, object>()

const ioProcessors = (session: string): object => {
  const known = processorsOf.get(session)
  if (known !== undefined) return known
  const location = { location: `#_scxml_${session}` }
  const fresh = { scxml: location, [processor]: location }
  processorsOf.set(session, fresh)
  return fresh
}

/** Expressions of the chart are its own code, read from the development dependency. */
const compiled = new Map<string, (...given: ReadonlyArray<unknown>) => unknown>()

const compile = (code: string) => {
  const known = compiled.get(code)
  if (known !== undefined) return known
  const fresh = new Function("vars", "_event", "_sessionid", "_name", "_ioprocessors", "In", `with (vars) { ${code}\n }`) as (
    ...given: ReadonlyArray<unknown>
  ) => unknown
  compiled.set(code, fresh)
  return fresh
}

type Place = Pick<ChartContext, "vars" | "session">

const run = (document: Document, { vars, session }: Place, event: object | undefined, isIn: Tools["isIn"], code: string): unknown => {
  const { name = "" } = document.root.attributes
  return compile(`${document.functions}\n${code}`)(vars, event, session.id, name, ioProcessors(session.id), isIn)
}

/** The variables as expressions see them: all that are declared, with documents for XML. */
const scopeOf = ({ declared }: Document, vars: Data): Record<string, unknown> => {
  const scope = Object.create(null) as Record<string, unknown>
  for (const name of declared) scope[name] = undefined
  for (const [name, value] of Object.entries(vars)) scope[name] = shown(value)
  return scope
}

export type Holds = "yes" | "no" | "error"

/** Whether a condition holds. Conditions change no data. */
export const holds = (document: Document, context: Place, event: object | undefined, isIn: Tools["isIn"], condition: string): Holds => {
  try {
    const vars = scopeOf(document, context.vars)
    return run(document, { vars, session: context.session }, event, isIn, `return (${condition})`) ? "yes" : "no"
  } catch {
    return "error"
  }
}

export class Content {
  readonly #document: Document
  readonly #event: object | undefined
  readonly #tools: Tools
  #context: ChartContext
  /** The element that is being executed. */
  #current = ""

  constructor(document: Document, context: ChartContext, event: object | undefined, tools: Tools) {
    this.#document = document
    this.#context = context
    this.#event = event
    this.#tools = tools
  }

  get context(): ChartContext {
    return this.#context
  }

  /** An error ends the block. */
  block(elements: ReadonlyArray<Element>) {
    this.#caught(() => this.#all(elements))
  }

  fail(name: string) {
    this.#tools.raise({ type: name, data: { tagname: "data", line: 0, column: 0, reason: "it has no value" }, about: { type: "platform" } })
  }

  bind(data: ReadonlyArray<Element>) {
    for (const one of data) this.#caught(() => this.setData(one))
  }

  setData(one: Element) {
    const { id = "", expr, src } = one.attributes
    this.#current = "data"
    if (expr !== undefined) this.#set(id, this.#evaluate(expr))
    else if (src !== undefined) this.#set(id, this.#literal(this.#file(src)))
    else if (one.children.length > 0 || one.text.trim() !== "") this.#set(id, this.#literal(one.children[0]?.source ?? one.text))
  }

  /** The data of a final state. */
  output(state: string, element: Element) {
    this.#caught(() => {
      this.#context = { ...this.#context, outputs: { ...this.#context.outputs, [state]: kept(this.#payload(element)) } }
    })
  }

  /** Marks the late data of a state as bound. False where they were before. */
  bindsNow(state: string): boolean {
    const { bound } = this.#context
    if (state in bound) return false
    this.#context = { ...this.#context, bound: { ...bound, [state]: true } }
    return true
  }

  /** Starts what is invoked, where everything about it can be evaluated. */
  invoke(key: string, state: string, element: Element) {
    this.#caught(() => {
      const { attributes } = element
      this.#current = "invoke"
      const type = attributes["type"] ?? (attributes["typeexpr"] === undefined ? undefined : String(this.#evaluate(attributes["typeexpr"])))
      if (!chartTypes.has(type)) throw new ContentError("error.execution", `${type} is not a type of charts`)
      const id = attributes["id"] ?? `${state}.${this.#next()}`
      if (attributes["idlocation"] !== undefined) this.#set(attributes["idlocation"], id)
      const src = attributes["src"] ?? (attributes["srcexpr"] === undefined ? undefined : String(this.#evaluate(attributes["srcexpr"])))
      const actor = this.#document.actorOf(src === undefined ? this.#document_(element) : this.#file(src))
      if (actor === undefined) throw new ContentError("error.communication", "nothing to invoke")
      const parameters = { ...element, children: elementsOf(element, "param") }
      const vars = (this.#payload(parameters) ?? {}) as Data
      this.#context = { ...this.#context, invoked: { ...this.#context.invoked, [key]: id } }
      const { session } = this.#context
      this.#tools.spawn(actor, { id, input: { vars, session: { id: `${session.id}.${id}`, invokeid: id, parent: session.id } } })
    })
  }

  #document_(element: Element): string {
    const [content] = elementsOf(element, "content")
    const expression = content?.attributes["expr"]
    if (expression === undefined) return content?.children[0]?.source ?? ""
    const value = this.#evaluate(expression)
    return isXml(value) ? value["(xml)"] : String(value)
  }

  #next(): number {
    this.#context = { ...this.#context, count: this.#context.count + 1 }
    return this.#context.count
  }

  #set(name: string, value: unknown) {
    this.#context = { ...this.#context, vars: { ...this.#context.vars, [name]: kept(value) } }
  }

  #caught(work: () => void) {
    try {
      work()
    } catch (cause) {
      if (!(cause instanceof ContentError)) throw cause
      this.#tools.raise({
        type: cause.event,
        data: { tagname: this.#current, line: 0, column: 0, reason: cause.message },
        about: { type: "platform", ...(cause.sendid === undefined ? {} : { sendid: cause.sendid }) },
      })
    }
  }

  #all(elements: ReadonlyArray<Element>) {
    for (const element of elements) this.#execute(element)
  }

  #execute(element: Element) {
    const { attributes } = element
    this.#current = element.name
    switch (element.name) {
      case "raise":
        return this.#tools.raise({ type: attributes["event"] ?? "", about: { type: "internal" } })
      case "send":
        return this.#send(element)
      case "cancel":
        return this.#tools.cancel(attributes["sendid"] ?? String(this.#evaluate(attributes["sendidexpr"] ?? "")))
      case "assign":
        return this.#assign(element)
      case "script":
        return this.#change(attributes["src"] === undefined ? element.text : this.#file(attributes["src"]))
      case "log":
        if (attributes["expr"] !== undefined) this.#evaluate(attributes["expr"])
        return
      case "if":
        return this.#if(element)
      case "foreach":
        return this.#foreach(element)
      default:
        throw new ContentError("error.execution", `<${element.name}> is not known`)
    }
  }

  #evaluate(expression: string): unknown {
    return this.#run(scopeOf(this.#document, this.#context.vars), `return (${expression.replace(/;\s*$/, "")}\n)`)
  }

  #run(vars: Record<string, unknown>, code: string): unknown {
    try {
      return run(this.#document, { vars, session: this.#context.session }, this.#event, this.#tools.isIn, code)
    } catch (cause) {
      throw new ContentError("error.execution", String(cause))
    }
  }

  /** Runs code that may change data: on a copy, as states that were decided before stay as they are. */
  #change(code: string) {
    const vars = scopeOf(this.#document, structuredClone(this.#context.vars))
    this.#run(vars, code)
    const changed = Object.entries(vars).flatMap(([name, value]) => (value === undefined ? [] : [[name, kept(value)] as const]))
    this.#context = { ...this.#context, vars: Object.fromEntries(changed) }
  }

  #literal(text: string): unknown {
    const trimmed = text.trim()
    if (trimmed === "") return undefined
    if (trimmed.startsWith("<")) return { "(xml)": trimmed }
    try {
      return this.#evaluate(trimmed)
    } catch {
      return trimmed.replace(/\s+/g, " ")
    }
  }

  #file(name: string): string {
    try {
      return readFileSync(join(this.#document.folder, name.replace(/^file:/, "")), "utf8")
    } catch (cause) {
      throw new ContentError("error.communication", String(cause))
    }
  }

  #assign(element: Element) {
    const { location = "", expr } = element.attributes
    const [root = ""] = location.trim().split(/[.[]/)
    if (!this.#document.declared.includes(root)) throw new ContentError("error.execution", `${location} cannot be assigned`)
    const value = expr === undefined ? this.#literal(element.children[0]?.source ?? element.text) : this.#evaluate(expr)
    if (root === location.trim()) return this.#set(root, value)
    this.#set("(value)", value)
    this.#change(`${location} = vars["(value)"]`)
    const { "(value)": _, ...vars } = this.#context.vars
    this.#context = { ...this.#context, vars }
  }

  #if({ attributes, children }: Element) {
    let isMet = this.#holds(attributes["cond"])
    let isOver = false
    for (const child of children) {
      if (child.name === "elseif" || child.name === "else") {
        isOver ||= isMet
        isMet = !isOver && (child.name === "else" || this.#holds(child.attributes["cond"]))
      } else if (isMet && !isOver) this.#execute(child)
    }
  }

  /** A condition that cannot be evaluated does not hold, and raises an event. */
  #holds(condition = "true"): boolean {
    let answer = false
    this.#caught(() => {
      answer = Boolean(this.#evaluate(condition))
    })
    return answer
  }

  #foreach(element: Element) {
    const { array = "", item = "", index } = element.attributes
    const values = this.#evaluate(array)
    if (typeof values !== "object" || values === null || !("length" in values))
      throw new ContentError("error.execution", `${array} is not an array`)
    for (const name of [item, index ?? item])
      if (!/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name)) throw new ContentError("error.execution", `${name} is not a name`)
    for (const [position, value] of [...(values as ReadonlyArray<unknown>)].entries()) {
      this.#set(item, value)
      if (index !== undefined) this.#set(index, position)
      this.#all(element.children)
    }
  }

  #payload(element: Element): unknown {
    const [content] = elementsOf(element, "content")
    if (content !== undefined) {
      if (content.attributes["expr"] !== undefined) return kept(this.#evaluate(content.attributes["expr"]))
      return this.#literal(content.children[0]?.source ?? content.text)
    }
    const names = element.attributes["namelist"]?.trim().split(/\s+/) ?? []
    const parameters = elementsOf(element, "param")
    if (names.length === 0 && parameters.length === 0) return undefined
    const data: Record<string, unknown> = {}
    for (const name of names) data[name] = kept(this.#evaluate(name))
    for (const { attributes } of parameters)
      data[attributes["name"] ?? ""] = kept(this.#evaluate(attributes["expr"] ?? attributes["location"] ?? ""))
    return data
  }

  #send(element: Element) {
    const { attributes } = element
    const of = (name: "delay" | "event" | "target" | "type") =>
      attributes[name] ?? (attributes[`${name}expr`] === undefined ? undefined : String(this.#evaluate(attributes[`${name}expr`] ?? "")))
    const { idlocation } = attributes
    const sendid = attributes["id"] ?? (idlocation === undefined ? undefined : `send ${this.#next()}`)
    if (idlocation !== undefined) this.#set(idlocation, sendid)
    const type = of("type")
    if (!processors.has(type)) throw new ContentError("error.execution", `${type} is not a processor`, sendid)
    const target = of("target")
    const data = this.#payload(element)
    const delay = millisOf(of("delay"))
    const { session } = this.#context
    const known = sendid === undefined ? {} : { sendid }
    const event = { type: of("event") ?? "", ...(data === undefined ? {} : { data }) }
    if (target === "#_internal") return this.#tools.raise({ ...event, about: { type: "internal", ...known } })
    const to = this.#receiver(target, sendid)
    const about = {
      type: "external" as const,
      ...known,
      origin: `#_scxml_${session.id}`,
      origintype: processor,
      ...(to === "parent" && session.invokeid !== undefined ? { invokeid: session.invokeid } : {}),
    }
    const options = { ...(sendid === undefined ? {} : { id: sendid }), ...(delay === 0 ? {} : { delay }) }
    this.#tools.send(to, { ...event, about }, options)
  }

  #receiver(target: string | undefined, sendid: string | undefined): "self" | "parent" | { readonly child: string } {
    const { session, invoked } = this.#context
    const ids = [...this.#document.invokeIds, ...Object.values(invoked)]
    if (target === undefined || target === "" || target === `#_scxml_${session.id}`) return "self"
    if (session.parent !== undefined && (target === "#_parent" || target === `#_scxml_${session.parent}`)) return "parent"
    const child = ids.find((id) => target === `#_${id}` || target === `#_scxml_${session.id}.${id}`)
    if (child !== undefined) return { child }
    throw new ContentError(target.startsWith("#_") ? "error.communication" : "error.execution", `${target} is not known`, sendid)
  }
}

const millisOf = (delay: string | undefined): number => {
  const [, amount = "0", unit] = /^([\d.]+)\s*(ms|s)?$/.exec(delay?.trim() ?? "0") ?? []
  return Number(amount) * (unit === "s" ? 1000 : 1)
}
