/**
 * Translates SCXML charts to XState machines: states, transitions, history and conditions become XState's own, executable content
 * becomes `enqueueActions`, and invoked charts become actors. What XState has no means for is left out and named.
 */
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { type AnyStateMachine, and, createMachine, enqueueActions, not, or, stateIn } from "xstate"
import {
  type ChartContext,
  Content,
  type Data,
  type Document,
  holds,
  type SentEvent,
  type SessionOf,
  shownEvent,
  type Tools,
} from "./Content.ts"
import { type Element, elementsOf, parseXml } from "./Xml.ts"

/** The chart, the names of its states by the ids that XState knows them by, and what of it XState cannot express. */
export interface Translated {
  readonly machine: AnyStateMachine
  readonly nameOf: (id: string) => string
  readonly leftOut: ReadonlyArray<string>
}

/** `sent`: the names of events that are sent to the chart. */
export const translate = (file: string, sent: ReadonlyArray<string>): Translated =>
  new Family(dirname(file), sent).add(readFileSync(file, "utf8"), "chart")

/** A chart with the charts that it invokes, each once. */
class Family {
  readonly #folder: string
  readonly #sent: ReadonlyArray<string>
  readonly #leftOut = new Set<string>()

  constructor(folder: string, sent: ReadonlyArray<string>) {
    this.#folder = folder
    this.#sent = sent
  }

  add(source: string, id: string): Translated {
    const root = parseXml(source)
    const inside = ownElements(root)
    const names = new Map<string, string>()
    const actors: Record<string, AnyStateMachine> = {}
    const bySource = new Map<string, string>()
    const addActor = (document: string) => {
      const text = document.trim()
      if (bySource.has(text)) return
      const name = `chart${bySource.size + 1}`
      bySource.set(text, name)
      actors[name] = this.add(text, name).machine
    }
    for (const document of root.children.flatMap(documentsIn)) addActor(document.source)
    for (const [, name = ""] of source.matchAll(/file:([\w.-]+\.scxml)/g)) addActor(readFileSync(join(this.#folder, name), "utf8"))
    for (const { name, attributes, children } of inside) {
      if (name === "finalize") this.#leftOut.add("<finalize>: no action runs before the transition is chosen")
      if (name === "history" && children.some((one) => one.children.length > 0))
        this.#leftOut.add("content of a history's default transition")
      if (name === "send" && (attributes["type"] ?? "").includes("BasicHTTP")) this.#leftOut.add("events by HTTP")
    }
    const scripts = elementsOf(root, "script").map((one) =>
      one.attributes["src"] === undefined ? one.text : readFileSync(join(this.#folder, one.attributes["src"]), "utf8"),
    )
    const document: Document = {
      root,
      folder: this.#folder,
      functions: scripts.filter((text) => /\bfunction\s+\w/.test(text)).join("\n"),
      declared: [
        ...inside.filter(({ name }) => name === "data").map(({ attributes }) => attributes["id"] ?? ""),
        ...inside.filter(({ name }) => name === "foreach").flatMap(({ attributes: { item = "", index = "" } }) => [item, index]),
        ...scripts.flatMap((text) => [...text.matchAll(/^\s*var\s+([\w$]+)/gm)].map(([, name = ""]) => name)),
      ],
      nameOf: (state) => names.get(state) ?? state,
      actorOf: (text) => bySource.get(text.trim()),
      invokeIds: new Set(inside.filter(({ name }) => name === "invoke").flatMap(({ attributes }) => attributes["id"] ?? [])),
    }
    const machine = new MachineOf(document, [source, ...this.#sent].join("\n"), scripts, names).make(id, actors)
    return { machine, nameOf: document.nameOf, leftOut: [...this.#leftOut] }
  }
}

/** The elements of a chart without those of charts inside of it. */
const ownElements = (element: Element): ReadonlyArray<Element> => [
  element,
  ...element.children.flatMap((child) => (child.name === "scxml" ? [] : ownElements(child))),
]

/** The charts inside of a chart, without those inside of them. */
const documentsIn = (element: Element): ReadonlyArray<Element> =>
  element.name === "scxml" ? [element] : element.children.flatMap(documentsIn)

const stateElements = ["state", "parallel", "final", "history"]

/** XState separates paths by dots, and SCXML ids may have them. */
const idOf = (name: string): string => name.replaceAll(".", "_dot_")

interface Received {
  readonly context: ChartContext
  readonly event: SentEvent
}

/** What is invoked by a state and gets all events that the chart gets. */
interface Forward {
  readonly id: string
  readonly state: Element
}

const holdsId = (element: Element, id: string): boolean =>
  element.attributes["id"] === id || element.children.some((child) => holdsId(child, id))

/** One transition, or the forwarding of an event that none takes. */
interface Arc {
  readonly descriptors: ReadonlyArray<string>
  readonly condition: string | undefined
  readonly translated: object
}

class MachineOf {
  readonly #document: Document
  /** All text in which names of events stand. */
  readonly #source: string
  readonly #scripts: ReadonlyArray<string>
  readonly #names: Map<string, string>
  readonly #isLate: boolean
  #anonymous = 0

  constructor(document: Document, source: string, scripts: ReadonlyArray<string>, names: Map<string, string>) {
    this.#document = document
    this.#source = source
    this.#scripts = scripts
    this.#names = names
    this.#isLate = document.root.attributes["binding"] === "late"
  }

  make(id: string, actors: Record<string, AnyStateMachine>): AnyStateMachine {
    const { root } = this.#document
    const states = this.#states(root, [])
    return createMachine(
      {
        id,
        context: ({ input }: { input: unknown }) => this.#context((input ?? {}) as { vars?: Data; session?: SessionOf }),
        entry: this.#action((content) => {
          for (const error of content.context.errors) content.fail(error)
        }),
        output: ({ event }: { event: { output?: unknown } }) => event.output,
        ...states,
        ...this.#initial(root, states),
      } as never,
      { actors } as never,
    )
  }

  /** Data has its values before anything runs; those that fail raise events when the chart is entered. */
  #context({ vars = {}, session = { id: "session" } }: { readonly vars?: Data; readonly session?: SessionOf }): ChartContext {
    const errors: Array<string> = []
    const tools: Tools = { ...inert, raise: ({ type }) => void errors.push(type) }
    const first = { vars: {}, session, count: 0, errors, bound: {}, outputs: {}, invoked: {} }
    const content = new Content(this.#document, first, undefined, tools)
    const early = this.#isLate ? dataOf(this.#document.root) : ownElements(this.#document.root).filter(({ name }) => name === "data")
    content.bind(early.filter(({ attributes }) => !((attributes["id"] ?? "") in vars)))
    const { declared } = this.#document
    const given = Object.fromEntries(Object.entries(vars).filter(([name]) => declared.includes(name)))
    const filled = new Content(this.#document, { ...content.context, vars: { ...content.context.vars, ...given } }, undefined, tools)
    for (const text of this.#scripts) filled.block([{ name: "script", attributes: {}, children: [], text, source: "" }])
    return { ...filled.context, errors }
  }

  /** Content as an action of XState. */
  #action(work: (content: Content) => void): unknown {
    return enqueueActions(({ context, event, enqueue, check }) => {
      const content = new Content(this.#document, context as ChartContext, shownEvent(this.#document, event as SentEvent), {
        raise: (sent) => enqueue.raise(sent as never),
        send: (to, sent, options) => {
          if (to === "parent") return enqueue.sendParent(sent as never, options as never)
          if (to === "self") return enqueue.sendTo(({ self }) => self, sent as never, options as never)
          return enqueue.sendTo(to.child, sent as never, options as never)
        },
        cancel: (id) => enqueue.cancel(id),
        spawn: (actor, options) => enqueue.spawnChild(actor as never, options as never),
        isIn: (state) => check(stateIn(`#${idOf(state)}`)),
      })
      work(content)
      enqueue.assign(content.context as never)
    })
  }

  #blocks(elements: ReadonlyArray<Element>): ReadonlyArray<unknown> {
    return elements.flatMap(({ children }) => (children.length === 0 ? [] : [this.#action((content) => content.block(children))]))
  }

  #states(element: Element, forwards: ReadonlyArray<Forward>): object | undefined {
    const inside = elementsOf(element, ...stateElements)
    if (inside.length === 0) return undefined
    return {
      states: Object.fromEntries(
        inside.map((child) => {
          const name = child.attributes["id"] ?? `anonymous${this.#anonymous++}`
          this.#names.set(idOf(name), name)
          return [idOf(name), this.#state(child, idOf(name), name, forwards)]
        }),
      ),
    }
  }

  #state(element: Element, id: string, name: string, outer: ReadonlyArray<Forward>): object {
    if (element.name === "history") {
      const [transition] = elementsOf(element, "transition")
      return { id, type: "history", history: element.attributes["type"] ?? "shallow", target: targetsOf(transition)?.[0] }
    }
    const invokes = elementsOf(element, "invoke").map((one, index) => this.#invoke(one, name, `${name} ${index + 1}`))
    const forwards = [...outer, ...invokes.flatMap(({ forwarded }) => forwarded.map((invoked) => ({ id: invoked, state: element })))]
    const states = this.#states(element, forwards)
    const transitions = elementsOf(element, "transition")
    const arcs = transitions.map((one, index) => this.#arc(element, one, transitions.slice(0, index), forwards))
    if (invokes.some(({ forwarded }) => forwarded.length > 0))
      arcs.push({ descriptors: ["*"], condition: undefined, translated: { actions: [this.#forward(forwards.map((one) => one.id))] } })
    const on = byDescriptor(arcs.filter(({ descriptors }) => descriptors.length > 0))
    const always = arcs.filter(({ descriptors }) => descriptors.length === 0).map(({ translated }) => translated)
    const late = this.#isLate ? dataOf(element) : []
    const [donedata] = elementsOf(element, "donedata")
    const entered = [
      ...(late.length === 0 ? [] : [this.#action((content) => content.bindsNow(id) && content.bind(late))]),
      ...this.#blocks(elementsOf(element, "onentry")),
      ...(donedata === undefined ? [] : [this.#action((content) => content.output(id, donedata))]),
      ...invokes.flatMap(({ spawned }) => spawned),
    ]
    return {
      id,
      ...(element.name === "parallel" ? { type: "parallel" } : element.name === "final" ? { type: "final" } : {}),
      entry: entered,
      exit: [...this.#blocks(elementsOf(element, "onexit")), ...invokes.flatMap(({ stopped }) => stopped)],
      ...(donedata === undefined ? {} : { output: ({ context }: Received) => context.outputs[id] }),
      ...(Object.keys(on).length === 0 ? {} : { on }),
      ...(always.length === 0 ? {} : { always }),
      ...(invokes.some(({ invoked }) => invoked !== undefined) ? { invoke: invokes.flatMap(({ invoked }) => invoked ?? []) } : {}),
      ...states,
      ...(element.name === "state" ? this.#initial(element, states) : {}),
    }
  }

  #arc(source: Element, transition: Element, before: ReadonlyArray<Element>, forwards: ReadonlyArray<Forward>): Arc {
    const { event, type, cond, target } = transition.attributes
    const targets = target?.trim().split(/\s+/) ?? []
    const staysIn = (state: Element) => targets.every((id) => state.children.some((child) => holdsId(child, id)))
    const isInternal = type === "internal" && source.name === "state" && staysIn(source)
    const lasting = forwards.filter(({ state }) => staysIn(state)).map(({ id }) => id)
    const descriptors =
      event === undefined
        ? []
        : event
            .trim()
            .split(/\s+/)
            .map((one) => this.#descriptor(one))
    // A condition cannot raise events: the transition that is taken raises those of the conditions before it.
    const tried = before.filter(
      ({ attributes }) => attributes["cond"] !== undefined && (attributes["event"] === undefined) === (event === undefined),
    )
    return {
      descriptors,
      condition: cond,
      translated: {
        ...(target === undefined ? {} : { target: targetsOf(transition), reenter: !isInternal }),
        ...(cond === undefined ? {} : { guard: this.#guard(cond) }),
        actions: [
          ...(lasting.length === 0 ? [] : [this.#forward(lasting)]),
          ...(tried.length === 0 ? [] : [this.#failures(tried.map(({ attributes }) => attributes["cond"] ?? ""))]),
          ...this.#blocks([transition]),
        ],
      },
    }
  }

  #failures(conditions: ReadonlyArray<string>): unknown {
    return enqueueActions(({ context, event, enqueue, check }) => {
      const isIn = (state: string) => check(stateIn(`#${idOf(state)}`))
      const shown = shownEvent(this.#document, event as SentEvent)
      for (const condition of conditions)
        if (holds(this.#document, context as ChartContext, shown, isIn, condition) === "error")
          enqueue.raise({ type: "error.execution", about: { type: "platform" } } as never)
    })
  }

  /** Conditions ask for states by guards of XState, and for the rest with their answers. */
  #guard(condition: string): unknown {
    const asked = [...new Set([...condition.matchAll(/\bIn\(\s*['"]([\w.-]+)['"]\s*\)/g)].map(([, state = ""]) => state))]
    const withAnswers = (active: ReadonlySet<string>) =>
      (({ context, event }: Received) =>
        holds(this.#document, context, shownEvent(this.#document, event), (state) => active.has(state), condition) === "yes") as never
    if (asked.length === 0) return withAnswers(new Set())
    const combinations = Array.from({ length: 2 ** asked.length }, (_, bits) => asked.filter((__, index) => (bits & (1 << index)) !== 0))
    return or(
      combinations.map((active) =>
        and([
          ...asked.map((state) => (active.includes(state) ? stateIn(`#${idOf(state)}`) : not(stateIn(`#${idOf(state)}`)))),
          withAnswers(new Set(active)),
        ] as never),
      ) as never,
    )
  }

  /** `foo` also means `foo.bar`. The events that XState makes have names of its own. */
  #descriptor(given: string): string {
    const bare = given.replace(/\.?\*$/, "").replace(/\.$/, "")
    if (bare === "") return "*"
    if (bare === "done") return "xstate.done.*"
    const [, kind, id] = /^done\.(state|invoke)(?:\.(.*))?$/.exec(bare) ?? []
    if (kind === "state") return id === undefined ? "xstate.done.state.*" : `xstate.done.state.${idOf(id)}`
    if (kind === "invoke") return id === undefined ? "xstate.done.actor.*" : `xstate.done.actor.${id}`
    return given !== bare || bare === "error" || this.#source.includes(`${bare}.`) ? `${bare}.*` : bare
  }

  /** XState begins in a child. Where SCXML begins deeper, or in several states, a state before them leads there. */
  #initial(element: Element, states: object | undefined): object {
    if (elementsOf(element, "state", "parallel", "final").length === 0) return {}
    const [transition] = elementsOf(element, "initial").flatMap((one) => elementsOf(one, "transition"))
    const named = element.attributes["initial"]
      ?.trim()
      .split(/\s+/)
      .map((target) => `#${idOf(target)}`)
    const actions = transition === undefined ? [] : this.#blocks([transition])
    const children = (states as { readonly states: Readonly<Record<string, { readonly type?: string }>> }).states
    const target = named ?? targetsOf(transition) ?? [`#${Object.keys(children).find((key) => children[key]?.type !== "history") ?? ""}`]
    const key = target[0]?.slice(1) ?? ""
    if (target.length === 1 && children[key] !== undefined) return { initial: { target: key, actions } }
    const before = `before${this.#anonymous++}`
    return { initial: before, states: { ...children, [before]: { always: { target, actions } } } }
  }

  /** An invocation with nothing to evaluate is XState's `invoke`; others are spawned on entry and stopped on exit. */
  #invoke(element: Element, state: string, key: string) {
    const { attributes } = element
    const isForwarded = attributes["autoforward"] === "true"
    const [content] = elementsOf(element, "content")
    const isPlain =
      !["typeexpr", "srcexpr", "src", "idlocation", "namelist"].some((name) => attributes[name] !== undefined) &&
      content?.attributes["expr"] === undefined &&
      elementsOf(element, "param").length === 0
    const actor = this.#document.actorOf(content?.children[0]?.source ?? "")
    if (isPlain && actor !== undefined) {
      const id = attributes["id"] ?? `${key.replace(" ", ".")}`
      const input = ({ context: { session } }: Received) => ({
        session: { id: `${session.id}.${id}`, invokeid: id, parent: session.id },
      })
      return { invoked: { id, src: actor, input }, spawned: [], stopped: [], forwarded: isForwarded ? [id] : [] }
    }
    const spawned = this.#action((one) => one.invoke(key, state, element))
    const stopped = enqueueActions(({ context, enqueue }) => {
      const id = (context as ChartContext).invoked[key]
      if (id !== undefined) enqueue.stopChild(id)
    })
    return { invoked: undefined, spawned: [spawned], stopped: [stopped], forwarded: isForwarded ? [attributes["id"] ?? ""] : [] }
  }

  #forward(ids: ReadonlyArray<string>): unknown {
    return enqueueActions(({ event, enqueue }) => {
      const { about, type } = event as unknown as SentEvent
      if (type.startsWith("xstate.") || (about?.type ?? "external") !== "external") return
      for (const id of ids) enqueue.sendTo(id, event as never)
    })
  }
}

const inert: Tools = {
  raise: () => undefined,
  send: () => undefined,
  cancel: () => undefined,
  spawn: () => undefined,
  isIn: () => false,
}

const dataOf = (element: Element): ReadonlyArray<Element> => elementsOf(element, "datamodel").flatMap((one) => elementsOf(one, "data"))

const targetsOf = (element: Element | undefined): ReadonlyArray<string> | undefined =>
  element?.attributes["target"]
    ?.trim()
    .split(/\s+/)
    .map((target) => `#${idOf(target)}`)

/**
 * XState tries the longest descriptor first, SCXML the first transition of the document: each descriptor has all transitions that
 * take its events, in the order of the document.
 */
const byDescriptor = (arcs: ReadonlyArray<Arc>): Readonly<Record<string, ReadonlyArray<object>>> =>
  Object.fromEntries(
    [...new Set(arcs.flatMap(({ descriptors }) => descriptors))].map((key) => [
      key,
      arcs.filter(({ descriptors }) => descriptors.some((one) => covers(one, key))).map(({ translated }) => translated),
    ]),
  )

const covers = (general: string, special: string): boolean => {
  if (general === "*" || general === special) return true
  if (!general.endsWith(".*")) return false
  const prefix = general.slice(0, -2)
  return special === prefix || special.startsWith(`${prefix}.`)
}
