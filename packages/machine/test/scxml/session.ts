/**
 * One run of a chart: its data, its executable content, and the events it sends. Which state it is in, which transition is taken,
 * and what is entered, left, remembered and raised, decides the machine.
 */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { createContext, runInContext } from "node:vm"
import { type Arc, type Chart, chartOf, type Vertex } from "./chart.ts"
import { type Driven, driven } from "./machine.ts"
import type { World } from "./world.ts"
import { type Element, elementsOf, readXml, textOf } from "./xml.ts"

export interface Signal {
  readonly name: string
  readonly type: "platform" | "internal" | "external"
  readonly sendid?: string | undefined
  readonly origin?: string | undefined
  readonly origintype?: string | undefined
  readonly invokeid?: string | undefined
  readonly data?: unknown
}

/** Content that follows the entry of a compound state. */
export type Entering = ReadonlyMap<Vertex, ReadonlyArray<Element>>

/** Raises an event in the machine. */
export type Raise = (signal: Signal) => void

interface Child {
  readonly session: Session
  readonly id: string
  readonly element: Element
}

const processor = "http://www.w3.org/TR/scxml/#SCXMLEventProcessor"
const http = "http://www.w3.org/TR/scxml/#BasicHTTPEventProcessor"
const processors = new Set([undefined, "", "scxml", processor, "http://www.w3.org/TR/scxml/"])
const httpProcessors = new Set(["basichttp", http])
const chartTypes = new Set([undefined, "", "scxml", "http://www.w3.org/TR/scxml/", "http://www.w3.org/TR/scxml", "application/scxml+xml"])

class ContentError extends Error {
  readonly signal: string
  readonly sendid: string | undefined
  constructor(signal: string, message: string, sendid?: string) {
    super(message)
    this.signal = signal
    this.sendid = sendid
  }
}

export class Session {
  readonly id: string
  readonly chart: Chart
  readonly active = new Set<Vertex>()
  /** Compound states that were left at least once. */
  readonly left = new Set<Vertex>()
  hasEnded = false
  readonly #world: World
  readonly #folder: string
  readonly #parent: Session | undefined
  readonly #invokeId: string | undefined
  readonly #data: Record<string, unknown>
  readonly #children = new Map<Vertex, Array<Child>>()
  /** Content of the transition that is being taken: it runs after all exits, before all entries. */
  #pending: ReadonlyArray<Element> | undefined
  /** Errors of conditions, which cannot raise events themselves. */
  #errors: Array<Signal> = []
  /** Content of initial and history transitions, by the state whose entry it follows. */
  #entering: Entering = new Map()
  /** The element that is being executed. */
  #current = ""
  #toInvoke: Array<Vertex> = []
  #isQuiet = false
  readonly #machine: Driven

  constructor(
    world: World,
    document: Element,
    folder: string,
    parent?: Session,
    invokeId?: string,
    given: Readonly<Record<string, unknown>> = {},
  ) {
    this.#world = world
    this.#folder = folder
    this.#parent = parent
    this.#invokeId = invokeId
    this.id = world.add(this)
    this.chart = chartOf(document)
    this.#data = createContext(this.#system(document)) as Record<string, unknown>
    this.#declare(document, given)
    this.#machine = driven(this)
  }

  start() {
    this.#machine.start()
    this.settled()
  }

  #system(document: Element): Record<string, unknown> {
    const location = { location: `#_scxml_${this.id}` }
    const own = {
      _sessionid: this.id,
      _name: document.attributes.name ?? "",
      _ioprocessors: { scxml: location, basichttp: location, [processor]: location, [http]: location },
    }
    const data = {
      In: (id: string) => [...this.active].some((vertex) => vertex.id === id),
      console: { log: () => undefined },
      require: createRequire(join(this.#folder, "chart.js")),
    }
    for (const [name, value] of Object.entries(own)) Object.defineProperty(data, name, { value, enumerable: true })
    return data
  }

  /** Data is declared before anything runs, at its place or here. */
  #declare(document: Element, given: Readonly<Record<string, unknown>>) {
    const isLate = document.attributes.binding === "late"
    const declareIn = (element: Element, isNow: boolean) => {
      for (const one of elementsOf(element, "datamodel").flatMap((model) => elementsOf(model, "data"))) {
        const id = one.attributes.id ?? ""
        this.#data[id] = undefined
        if (Object.hasOwn(given, id)) this.#data[id] = given[id]
        else if (isNow)
          this.#caught(
            (signal) => this.#errors.push(signal),
            () => this.#setData(one),
          )
      }
    }
    declareIn(document, true)
    for (const { element } of this.chart.vertices.values()) declareIn(element, !isLate)
    for (const script of elementsOf(document, "script"))
      this.#caught(
        (signal) => this.#errors.push(signal),
        () => this.#script(script),
      )
  }

  #setData(one: Element) {
    const { id = "", expr, src } = one.attributes
    if (expr !== undefined) this.#data[id] = this.#evaluate(expr)
    else if (src !== undefined) this.#data[id] = this.#literal(readFileSync(join(this.#folder, src.replace(/^file:/, "")), "utf8"))
    else if (one.children.length > 0) this.#data[id] = this.#literal(elementsOf(one).length > 0 ? one.source : textOf(one))
  }

  #literal(text: string): unknown {
    const trimmed = text.trim()
    if (trimmed === "") return undefined
    if (trimmed.startsWith("<")) return Object.assign(domOf(readXml(trimmed)), { toString: () => trimmed })
    try {
      return runInContext(`(${trimmed})`, this.#data)
    } catch {
      return trimmed.replace(/\s+/g, " ")
    }
  }

  #evaluate(expression: string): unknown {
    try {
      return runInContext(`(${expression.replace(/;\s*$/, "")}\n)`, this.#data)
    } catch (cause) {
      throw new ContentError("error.execution", String(cause))
    }
  }

  #script(element: Element) {
    const { src } = element.attributes
    const code = src === undefined ? textOf(element) : readFileSync(join(this.#folder, src.replace(/^file:/, "")), "utf8")
    try {
      runInContext(code, this.#data)
    } catch (cause) {
      throw new ContentError("error.execution", String(cause))
    }
  }

  // What the machine asks

  set event(signal: Signal | undefined) {
    if (signal === undefined) return
    const { name, type, sendid, origin, origintype, invokeid, data } = signal
    const value = Object.freeze({ name, type, sendid, origin, origintype, invokeid, data })
    Object.defineProperty(this.#data, "_event", { get: () => value, set: () => undefined, configurable: true, enumerable: true })
  }

  matches({ events = [], condition }: Arc, signal: Signal): boolean {
    this.event = signal
    const isMeant = events.some((one) => {
      const descriptor = one.replace(/\.?\*$/, "")
      return descriptor === "" || signal.name === descriptor || signal.name.startsWith(`${descriptor}.`)
    })
    return isMeant && this.holds(condition)
  }

  holds(condition: string | undefined): boolean {
    if (condition === undefined) return true
    let answer = false
    this.#caught(
      (signal) => this.#errors.push(signal),
      () => {
        answer = Boolean(this.#evaluate(condition))
      },
    )
    return answer
  }

  /** The content of a transition without a target runs now; that of others between exits and entries. */
  take({ content, target }: Pick<Arc, "content" | "target">, entering: Entering, raise: Raise) {
    this.#raiseErrors(raise)
    if (target === undefined) this.#block(content, raise)
    else this.begin(content, entering)
  }

  /** What runs before the first entry, and after the entries of compound states. */
  begin(content: ReadonlyArray<Element>, entering: Entering) {
    this.#pending = content
    this.#entering = entering
  }

  /** The next exit and entry belong to a transition that does not leave its state. */
  stayQuietly(arc: Arc, raise: Raise) {
    this.#isQuiet = true
    this.#block(arc.content, raise)
  }

  enter(vertex: Vertex, raise: Raise) {
    if (this.#isQuiet) {
      this.#isQuiet = false
      return
    }
    this.#raiseErrors(raise)
    const pending = this.#pending
    this.#pending = undefined
    if (pending !== undefined) this.#block(pending, raise)
    this.active.add(vertex)
    if (this.chart.root.element.attributes.binding === "late" && !this.left.has(vertex))
      for (const one of elementsOf(vertex.element, "datamodel").flatMap((model) => elementsOf(model, "data")))
        this.#caught(raise, () => this.#setData(one))
    for (const block of elementsOf(vertex.element, "onentry")) this.#block(elementsOf(block), raise)
    const initial = this.#entering.get(vertex)
    if (initial !== undefined) this.#block(initial, raise)
    if (elementsOf(vertex.element, "invoke").length > 0) this.#toInvoke.push(vertex)
  }

  exit(vertex: Vertex, raise: Raise) {
    if (this.#isQuiet) return
    for (const block of elementsOf(vertex.element, "onexit")) this.#block(elementsOf(block), raise)
    this.active.delete(vertex)
    this.left.add(vertex)
    this.#toInvoke = this.#toInvoke.filter((one) => one !== vertex)
    for (const { session } of this.#children.get(vertex) ?? []) session.cancel()
    this.#children.delete(vertex)
  }

  /** The event that a final state raises in its parent, with the data it declares. */
  done(vertex: Vertex, raise: Raise): Signal {
    return { name: `done.state.${vertex.parent?.id}`, type: "platform", data: this.#donated(vertex, raise) }
  }

  #donated({ element }: Vertex, raise: Raise): unknown {
    const [given] = elementsOf(element, "donedata")
    if (given === undefined) return undefined
    let data: unknown
    this.#caught(raise, () => {
      data = this.#payload(given)
    })
    return data
  }

  // Between events

  /** Handles an event that comes from outside. */
  receive(signal: Signal) {
    if (this.hasEnded) return
    for (const child of [...this.#children.values()].flat()) {
      if (child.id === signal.invokeid)
        for (const finalize of elementsOf(child.element, "finalize")) {
          this.event = signal
          this.#block(elementsOf(finalize), (one) => this.#errors.push(one))
        }
      if (child.element.attributes.autoforward === "true") this.#world.queue(child.session, signal)
    }
    this.#machine.send(signal)
    this.settled()
  }

  /** Errors of conditions come next; then what was entered is invoked; then the end is reported. */
  settled() {
    for (let rounds = 0; this.#errors.length > 0 && rounds < 100; rounds++) {
      const [error, ...others] = this.#errors
      this.#errors = others
      if (error !== undefined) this.#machine.send(error)
    }
    for (const vertex of this.#toInvoke.splice(0))
      for (const element of elementsOf(vertex.element, "invoke"))
        this.#caught(
          (signal) => this.#world.queue(this, signal),
          () => this.#invoke(vertex, element),
        )
    const final = this.#machine.final()
    if (final === undefined || this.hasEnded) return
    const data = this.#donated(final, () => undefined)
    for (const block of elementsOf(final.element, "onexit")) this.#block(elementsOf(block), () => undefined)
    this.hasEnded = true
    for (const { session } of [...this.#children.values()].flat()) session.cancel()
    if (this.#parent !== undefined)
      this.#world.queue(this.#parent, { name: `done.invoke.${this.#invokeId}`, type: "external", invokeid: this.#invokeId, data })
  }

  cancel() {
    if (this.hasEnded) return
    this.hasEnded = true
    for (const vertex of [...this.active].reverse()) this.exit(vertex, () => undefined)
  }

  get configuration(): ReadonlyArray<string> {
    return this.#machine.configuration()
  }

  // Executable content

  #raiseErrors(raise: Raise) {
    for (const error of this.#errors.splice(0)) raise(error)
  }

  #caught(raise: Raise, run: () => void) {
    try {
      run()
    } catch (cause) {
      if (!(cause instanceof ContentError)) throw cause
      raise({
        name: cause.signal,
        type: "platform",
        sendid: cause.sendid,
        data: { tagname: this.#current, line: 0, column: 0, reason: cause.message },
      })
    }
  }

  /** An error ends the block. */
  #block(content: ReadonlyArray<Element>, raise: Raise) {
    this.#caught(raise, () => this.#run(content, raise))
  }

  #run(content: ReadonlyArray<Element>, raise: Raise) {
    for (const element of content) this.#execute(element, raise)
  }

  #execute(element: Element, raise: Raise) {
    const { attributes } = element
    this.#current = element.name
    switch (element.name) {
      case "raise":
        return raise({ name: attributes.event ?? "", type: "internal" })
      case "send":
        return this.#send(element, raise)
      case "cancel":
        return this.#world.cancel(this, attributes.sendid ?? String(this.#evaluate(attributes.sendidexpr ?? "")))
      case "assign":
        return this.#assign(element)
      case "script":
        return this.#script(element)
      case "log":
        if (attributes.expr !== undefined) this.#evaluate(attributes.expr)
        return
      case "if":
        return this.#if(element, raise)
      case "foreach":
        return this.#foreach(element, raise)
      default:
        throw new ContentError("error.execution", `<${element.name}> is not known`)
    }
  }

  #assign(element: Element) {
    const { location = "", expr } = element.attributes
    const [root = ""] = location.split(/[.[]/)
    if (!Object.hasOwn(this.#data, root) || root.startsWith("_"))
      throw new ContentError("error.execution", `${location} cannot be assigned`)
    const value =
      expr === undefined ? this.#literal(elementsOf(element).length > 0 ? element.source : textOf(element)) : this.#evaluate(expr)
    Object.defineProperty(this.#data, " value", { value, configurable: true, writable: true })
    try {
      runInContext(`${location} = this[" value"]`, this.#data)
    } catch (cause) {
      throw new ContentError("error.execution", String(cause))
    }
  }

  #if({ attributes, children }: Element, raise: Raise) {
    let isMet = this.holds(attributes.cond)
    let isOver = false
    for (const child of children) {
      if (typeof child === "string") continue
      if (child.name === "elseif" || child.name === "else") {
        isOver ||= isMet
        isMet = !isOver && (child.name === "else" || this.holds(child.attributes.cond))
      } else if (isMet && !isOver) this.#execute(child, raise)
    }
    this.#raiseErrors(raise)
  }

  #foreach(element: Element, raise: Raise) {
    const { array = "", item = "", index } = element.attributes
    const values = this.#evaluate(array)
    if (typeof values !== "object" || values === null || !("length" in values))
      throw new ContentError("error.execution", `${array} is not an array`)
    for (const name of [item, index ?? item])
      if (!/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name)) throw new ContentError("error.execution", `${name} is not a name`)
    for (const [position, value] of [...(values as ReadonlyArray<unknown>)].entries()) {
      this.#data[item] = value
      if (index !== undefined) this.#data[index] = position
      this.#run(elementsOf(element), raise)
    }
  }

  #payload(element: Element): unknown {
    const [content] = elementsOf(element, "content")
    if (content !== undefined) {
      if (content.attributes.expr !== undefined) return this.#evaluate(content.attributes.expr)
      return this.#literal(elementsOf(content).length > 0 ? content.source : textOf(content))
    }
    const names = element.attributes.namelist?.trim().split(/\s+/) ?? []
    const parameters = elementsOf(element, "param")
    if (names.length === 0 && parameters.length === 0) return undefined
    const data: Record<string, unknown> = {}
    for (const name of names) data[name] = this.#evaluate(name)
    for (const { attributes } of parameters) data[attributes.name ?? ""] = this.#evaluate(attributes.expr ?? attributes.location ?? "")
    return data
  }

  #send(element: Element, raise: Raise) {
    const { attributes } = element
    const of = (name: "delay" | "event" | "target" | "type") =>
      attributes[name] ?? (attributes[`${name}expr`] === undefined ? undefined : String(this.#evaluate(attributes[`${name}expr`] ?? "")))
    const sendid = attributes.id ?? (attributes.idlocation === undefined ? undefined : `send ${this.#world.next()}`)
    if (attributes.idlocation !== undefined) this.#assignText(attributes.idlocation, sendid)
    const type = of("type")
    const isHttp = httpProcessors.has(type ?? "")
    if (!processors.has(type) && !isHttp) throw new ContentError("error.execution", `${type} is not a processor`, sendid)
    const target = of("target")
    if (isHttp && target === undefined) throw new ContentError("error.communication", "no target", sendid)
    const data = this.#payload(element)
    const millis = millisOf(of("delay"))
    const name = of("event") ?? (isHttp ? "HTTP.POST" : "")
    const shown = attributes.id ?? (attributes.idlocation === undefined ? undefined : sendid)
    if (target === "#_internal") return raise({ name, type: "internal", sendid: shown, data })
    const receiver = this.#receiver(target, sendid)
    const signal: Signal = {
      name,
      type: "external",
      sendid: shown,
      origin: `#_scxml_${this.id}`,
      origintype: isHttp ? http : processor,
      invokeid: receiver === this.#parent ? this.#invokeId : undefined,
      data,
    }
    if (!this.hasEnded) this.#world.send(this, receiver, signal, millis, sendid)
  }

  #assignText(location: string, text: string | undefined) {
    runInContext(`${location} = ${JSON.stringify(text)}`, this.#data)
  }

  #receiver(target: string | undefined, sendid: string | undefined): Session {
    if (target === undefined || target === "") return this
    if (target === "#_parent" && this.#parent !== undefined) return this.#parent
    const found = target.startsWith("#_scxml_") ? this.#world.find(target.slice(8)) : this.#invoked(target.slice(2))
    if (found !== undefined) return found
    throw new ContentError(target.startsWith("#_") ? "error.communication" : "error.execution", `${target} is not known`, sendid)
  }

  #invoked(id: string): Session | undefined {
    return [...this.#children.values()].flat().find((child) => child.id === id)?.session
  }

  #invoke(vertex: Vertex, element: Element) {
    const { attributes } = element
    const type = attributes.type ?? (attributes.typeexpr === undefined ? undefined : String(this.#evaluate(attributes.typeexpr)))
    if (!chartTypes.has(type)) throw new ContentError("error.execution", `${type} is not a type of charts`)
    const id = attributes.id ?? `${vertex.id}.${this.#world.next()}`
    if (attributes.idlocation !== undefined) this.#assignText(attributes.idlocation, id)
    const src = attributes.src ?? (attributes.srcexpr === undefined ? undefined : String(this.#evaluate(attributes.srcexpr)))
    const [content] = elementsOf(element, "content")
    const document =
      src !== undefined
        ? readXml(readFileSync(join(this.#folder, src.replace(/^file:/, "")), "utf8"))
        : content?.attributes.expr !== undefined
          ? readXml(String(this.#evaluate(content.attributes.expr)))
          : content === undefined
            ? undefined
            : elementsOf(content)[0]
    if (document === undefined) throw new ContentError("error.communication", "nothing to invoke")
    const given = (this.#payload({ ...element, children: elementsOf(element, "param") }) ?? {}) as Record<string, unknown>
    const folder = src === undefined ? this.#folder : dirname(join(this.#folder, src.replace(/^file:/, "")))
    const session = new Session(this.#world, document, folder, this, id, given)
    this.#children.set(vertex, [...(this.#children.get(vertex) ?? []), { session, id, element }])
    session.start()
  }
}

/** As much of a document object as charts ask for. */
const domOf = (element: Element): object => ({
  getAttribute: (name: string) => Object.entries(element.attributes).find(([other]) => other === name)?.[1],
  getElementsByTagName: (name: string) => inside(element).flatMap((one) => (one.name === name ? [domOf(one)] : [])),
})

const inside = (element: Element): ReadonlyArray<Element> => elementsOf(element).flatMap((one) => [one, ...inside(one)])

const millisOf = (delay: string | undefined): number => {
  const [, amount = "0", unit] = /^([\d.]+)\s*(ms|s)?$/.exec(delay?.trim() ?? "0") ?? []
  return Number(amount) * (unit === "s" ? 1000 : 1)
}
