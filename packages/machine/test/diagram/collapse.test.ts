import { it as effectIt } from "@effect/vitest"
import { Graphviz } from "@hpcc-js/wasm-graphviz"
import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"
import type { Trace } from "../../src/actor/Trace.ts"
import type { Blueprint, TransitionBlueprint } from "../../src/contract/Blueprint.ts"
import { Dot, Mermaid, Svg } from "../../src/diagram/index.ts"
import * as Scene from "../../src/diagram/Scene.ts"
import { after, blueprint, documentWorkflow, group, on, postpone, state, stay, step, stop, traceOf } from "./fixtures.ts"
import { grouped, someTaken } from "./groupedMachines.ts"
import { readFlow, readState } from "./readMermaid.ts"
import { readXml } from "./readXml.ts"

const leaves = ["Peer", "Legal", "Brand"]

/** A review with a group in a group. Other transitions come after those all three states share. */
const review = (shared: (from: string) => ReadonlyArray<TransitionBlueprint>, others: ReadonlyArray<TransitionBlueprint> = []): Blueprint =>
  blueprint("review", {
    states: [
      state("Draft", [], { initial: true }),
      state("Peer", [], { group: "Review" }),
      state("Legal", [], { group: "Compliance" }),
      state("Brand", [], { group: "Compliance" }),
      state("Done", [], { final: true }),
    ],
    stateGroups: [group("Review", ["Peer", "Compliance"]), group("Compliance", ["Legal", "Brand"], "Review")],
    transitions: [...leaves.flatMap(shared), ...others],
  })

const edgesOf = (machine: Blueprint, trace?: Trace) =>
  Scene.make(machine, { trace })
    .edges.filter((edge) => edge.kind !== "Initial")
    .map((edge) => `${edge.from.replace(/^\w+:/, "")} → ${edge.to.replace(/^\w+:/, "")}: ${edge.label.join(" ")}${edge.taken ? " ●" : ""}`)

const draftEdges = (machine: Blueprint) => edgesOf(machine).filter((edge) => edge.includes("→ Draft"))

describe("129 what all states of a group have in common", () => {
  it("129 is drawn once, from the outermost group", () => {
    expect(edgesOf(review((from) => [on(from, "Reject", "Draft", { guards: ["mayReject"], requests: ["notify"] })]))).toEqual([
      "Review → Draft: Reject [mayReject] / notify",
    ])
    expect(edgesOf(review((from) => [on(from, "Drop", stop("dropped"))]))).toEqual(["Review → dropped: Drop"])
    expect(
      edgesOf(
        review(
          () => [],
          ["Legal", "Brand"].map((from) => on(from, "Reject", "Peer")),
        ),
      ),
    ).toEqual(["Compliance → Peer: Reject"])
  })

  it("129 is drawn for each state as soon as one of them differs", () => {
    const each = ["Peer → Draft: Cancel", "Brand → Draft: Cancel"]
    expect(draftEdges(review((from) => [on(from, "Cancel", from === "Legal" ? "Done" : "Draft")]))).toEqual(each)
    expect(draftEdges(review((from) => (from === "Legal" ? [] : [on(from, "Cancel", "Draft")])))).toEqual(each)
    expect(draftEdges(review((from) => [on(from, "Cancel", "Draft", { guards: from === "Legal" ? ["signed"] : [] })]))).toHaveLength(3)
    expect(draftEdges(review((from) => [on(from, "Cancel", "Draft", { requests: from === "Legal" ? ["file"] : [] })]))).toHaveLength(3)
    expect(draftEdges(review((from) => [on(from, "Cancel", from === "Legal" ? ["Draft", "Done"] : "Draft")]))).toHaveLength(3)
    expect(draftEdges(review((from) => [after(from, from === "Legal" ? "2 days" : "1 day", "Draft")]))).toHaveLength(3)
    expect(draftEdges(review((from) => [after(from, "1 day", "Draft", { idle: from === "Legal" })]))).toHaveLength(3)
    // An inner group may still agree.
    expect(draftEdges(review((from) => [on(from, "Cancel", from === "Peer" ? "Done" : "Draft")]))).toEqual(["Compliance → Draft: Cancel"])
  })

  it("129 stays with the states where it leads to one of them", () => {
    expect(edgesOf(review((from) => [on(from, "Restart", "Peer", { reenter: true })]))).toEqual([
      "Peer → Peer: Restart",
      "Compliance → Peer: Restart",
    ])
    expect(edgesOf(review((from) => [on(from, "Restart", from, { reenter: true })]))).toEqual([
      "Peer → Peer: Restart",
      "Legal → Legal: Restart",
      "Brand → Brand: Restart",
    ])
  })

  it("129 has the name of a timeout where one of the states has others", () => {
    const machine = review(
      (from) => [after(from, "7 days", "Draft", { name: "expire" })],
      [after("Brand", "1 day", stay, { name: "remind" })],
    )
    expect(edgesOf(machine)).toEqual(["Review → Draft: after 7 days (expire)"])
  })

  it("129 is listed once under the title of the group, or in every state where the notation has no room there", async () => {
    const machine = review(
      (from) => [postpone(from, "Publish"), on(from, "Ask", stay), on(from, "Edit", from)],
      [on("Legal", "Sign", stay)],
    )
    const scene = Scene.make(machine)
    const lines = ["Publish", "Ask / stay", "Edit"]
    expect(scene.groups.map((one) => one.lines.map((line) => line.text))).toEqual([lines, []])
    expect(scene.boxes.map((box) => box.ownLines.map((line) => line.text))).toEqual([[], [], ["Sign / stay"], [], []])
    expect((await readState(Mermaid.stateDiagram(machine))).nodes.get("Legal")).toEqual([
      "Legal",
      "‖ Publish",
      "Ask / stay",
      "↻ Edit",
      "Sign / stay",
    ])
    const texts = readXml(await Effect.runPromise(Svg.render(machine))).map((one) => one.text)
    for (const line of lines) expect(texts.filter((text) => text === line)).toHaveLength(1)
    expect(Dot.structure(machine).split("‖ Publish")).toHaveLength(2)
  })

  it("129 leaves from the group's border in every notation", async () => {
    const machine = review((from) => [on(from, "Reject", "Draft"), on(from, "Finish", "Done")])
    const states = await readState(Mermaid.stateDiagram(machine))
    expect(states.edges).toContainEqual({ from: "Review", to: "Draft", label: "Reject" })
    const flow = await readFlow(Mermaid.flowchart(machine))
    expect(flow.edges).toContainEqual({ from: "Review", to: "Draft", label: "Reject", stroke: "normal" })
    expect(flow.groups.get("Review")).toEqual(["Peer", "Compliance"])
    const text = Dot.structure(machine)
    expect(text).toContain(`"Peer" -> "Draft" [label=" Reject ", ltail="cluster_Review"]`)
    expect(text).toContain(`"Brand" -> "Done" [label=" Finish ", ltail="cluster_Review"]`)
    const dots = readXml(await Effect.runPromise(Svg.render(machine))).filter((one) => one.attributes["r"] === "3")
    expect(dots).toHaveLength(2)
  })
})

describe("129 ranks in DOT", () => {
  it("129 put the first state above a group that leads back to it", async () => {
    const back = review(
      (from) => [on(from, "Reject", "Draft"), on(from, "Cancel", "Draft", { guards: ["early"] })],
      [on("Draft", "Submit", "Peer"), on("Peer", "Approve", "Legal"), on("Legal", "Approve", "Brand"), on("Brand", "Approve", "Done")],
    )
    const graphviz = await Graphviz.load()
    const read = JSON.parse(graphviz.dot(Dot.structure(back), "json")) as { objects: ReadonlyArray<{ name: string; pos?: string }> }
    const heights = ["initial1", "Draft", "Peer", "Legal", "Brand", "Done"].map((name) =>
      Number(read.objects.find((one) => one.name === name)?.pos?.split(",")[1]),
    )
    expect(heights).toEqual([...heights].sort((a, b) => b - a))
  })
})

describe("129 events that lead the same way", () => {
  const machine = (transitions: ReadonlyArray<TransitionBlueprint>) =>
    blueprint("m", { states: [state("A", [], { initial: true }), state("B")], transitions })

  it("129 share an edge", () => {
    expect(edgesOf(machine([on("A", "Archive", "B"), on("A", "Retract", "B")]))).toEqual(["A → B: Archive, Retract"])
    const guarded = { guards: ["mayGo"], requests: ["tell"] }
    expect(edgesOf(machine([on("A", "Go", "B", guarded), on("A", "Run", "B", guarded)]))).toEqual(["A → B: Go, Run [mayGo] / tell"])
    expect(edgesOf(review((from) => [on(from, "Cancel", "Draft"), on(from, "Reject", "Draft")]))).toEqual([
      "Review → Draft: Cancel, Reject",
    ])
  })

  it("129 have edges of their own where anything else differs", () => {
    const differing: ReadonlyArray<ReadonlyArray<TransitionBlueprint>> = [
      [on("A", "Go", "B"), on("A", "Run", "B", { guards: ["mayRun"] })],
      [on("A", "Go", "B"), on("A", "Run", "B", { requests: ["tell"] })],
      [on("A", "Go", "B"), on("A", "Run", "B", { description: "in a hurry" })],
      [on("A", "Go", "B"), on("B", "Run", "A")],
      [on("A", "Go", "B"), after("A", "1 day", "B")],
      [after("A", "1 day", "B", { name: "a" }), after("A", "2 days", "B", { name: "b" })],
    ]
    for (const transitions of differing) expect(edgesOf(machine(transitions))).toHaveLength(2)
  })

  it("129 take a line each where the label gets long", async () => {
    const text = await Effect.runPromise(Svg.render(machine([on("A", "RequestChanges", "B"), on("A", "WithdrawDocument", "B")])))
    const texts = readXml(text).map((one) => one.text)
    expect(texts).toEqual(expect.arrayContaining(["RequestChanges,", "WithdrawDocument"]))
  })
})

describe("130 a trace through what is drawn as one", () => {
  it("130 takes a group's edge where it took that of any state inside", () => {
    const machine = review((from) => [on(from, "Reject", "Draft"), on(from, "Ask", stay)])
    const trace = traceOf("review", "Draft", [step(1, "Legal", "Reject", "Draft"), step(2, "Legal", "Ask", "Legal", { outcome: "Stay" })])
    expect(edgesOf(machine, trace)).toEqual(["Review → Draft: Reject ●"])
    const scene = Scene.make(machine, { trace })
    expect(scene.groups[0]?.lines).toEqual([{ kind: "Stay", text: "Ask / stay", taken: true }])
    // The states themselves know which of them it was.
    expect(scene.boxes.filter((box) => box.lines.some((line) => line.taken)).map((box) => box.name)).toEqual(["Legal"])
  })

  it("130 keeps an event that came apart from one that did not", () => {
    const machine = review((from) => [on(from, "Reject", "Draft"), on(from, "Cancel", "Draft"), on(from, "Withdraw", "Draft")])
    expect(edgesOf(machine, traceOf("review", "Draft", [step(1, "Legal", "Cancel", "Draft")]))).toEqual([
      "Review → Draft: Reject, Withdraw",
      "Review → Draft: Cancel ●",
    ])
  })
})

/** Every transition to every target on its own, as plain as can be. */
const plainly = (machine: Blueprint): ReadonlyArray<string> =>
  machine.transitions.flatMap((one) => {
    const from = one._tag === "Event" && one.fallback ? "any" : one.from
    const cause = one._tag === "Event" || one._tag === "Postpone" ? one.event : one._tag === "Timeout" ? `after ${one.after}` : ""
    const guards = one.guards.map((guard) => (one.targets.length > 1 ? `${guard}?` : guard))
    const how = `${cause} [${guards}] (${one.requests})`
    if (one._tag === "Postpone") return [`${from} postpones ${how}`]
    const reenter = one._tag === "Event" && one.reenter
    return one.targets.map((target) => {
      if (target._tag === "Stay") return `${from} stays ${how}`
      if (target._tag === "Stop") return `${from} → ${target.reason ?? "stop"} ${how}`
      return target.state === one.from && !reenter ? `${from} keeps ${how}` : `${from} → ${target.state} ${how}`
    })
  })

/** The same, read off the picture: what leaves a group holds for its states, what shares an edge for each event. */
const readOff = (scene: Scene.Scene): ReadonlyArray<string> => {
  const inside = (item: Scene.Item): ReadonlyArray<string> => (item._tag === "Box" ? [item.name] : item.items.flatMap(inside))
  const statesAt = (key: string) => {
    const found = scene.groups.find((one) => one.key === key)
    return found === undefined ? [key.replace(/^\w+:/, "")] : inside(found)
  }
  const how = (cause: string, rest: string) => {
    const guards = /\[(.*?)\]/.exec(rest)?.[1] ?? ""
    const requests = /\/ (request)/.exec(rest)?.[1] ?? ""
    return `${cause.replace(/ \(.*\)|,$|^always$/g, "")} [${guards}] (${requests})`
  }
  const edges = scene.edges
    .filter((edge) => edge.kind !== "Initial")
    .flatMap((edge) => {
      const causes = edge.causes === 0 ? [""] : edge.label.slice(0, edge.causes)
      const rest = edge.label.slice(edge.causes).join(" ")
      return statesAt(edge.from).flatMap((from) => causes.map((cause) => `${from} → ${edge.to.replace(/^\w+:/, "")} ${how(cause, rest)}`))
    })
  const verbs = { Stay: "stays", Update: "keeps", Postpone: "postpones" } as const
  const lines = [...scene.boxes, ...scene.groups, ...(scene.any === undefined ? [] : [scene.any])].flatMap((one) =>
    (one._tag === "Box" ? one.ownLines : one.lines).flatMap((line) => {
      if (line.kind !== "Stay" && line.kind !== "Update" && line.kind !== "Postpone") return []
      const [, cause = "", rest = ""] = /^(after \d+ hours|always|Event\d|)(.*)$/.exec(line.text) ?? []
      return statesAt(one.key).map((from) => `${from} ${verbs[line.kind as keyof typeof verbs]} ${how(cause, rest)}`)
    }),
  )
  return [...edges, ...lines]
}

describe("129 nothing gets lost or added by drawing several as one", () => {
  effectIt.effect.prop("129 the picture says what the blueprint says", { machine: grouped }, ({ machine }) =>
    Effect.sync(() => {
      const scene = Scene.make(machine)
      expect([...readOff(scene)].sort()).toEqual([...plainly(machine)].sort())
      // In a state's box or its group's: together they are all that the state would list alone.
      const flat = Scene.make({ ...machine, stateGroups: [], states: machine.states.map((one) => ({ ...one, group: undefined })) })
      expect(scene.boxes.map((box) => box.lines)).toEqual(flat.boxes.map((box) => box.ownLines))
    }),
  )

  effectIt.effect.prop("130 an edge is taken if and only if one of those it stands for was", { machine: grouped }, ({ machine }) =>
    Effect.sync(() => {
      const trace = someTaken(machine)
      const took = (scene: Scene.Scene) => scene.edges.filter((edge) => edge.taken && edge.kind !== "Initial")
      const flat = Scene.make(
        { ...machine, stateGroups: [], states: machine.states.map((one) => ({ ...one, group: undefined })) },
        { trace },
      )
      const scene = Scene.make(machine, { trace })
      const shown = new Set(readOff({ ...scene, edges: took(scene) }))
      const plain = readOff({ ...flat, edges: took(flat) })
      expect(plain.filter((one) => !shown.has(one))).toEqual([])
      for (const edge of took(scene)) {
        expect(readOff({ ...scene, boxes: [], any: undefined, edges: [edge] }).some((one) => plain.includes(one))).toBe(true)
      }
    }),
  )

  effectIt.effect.prop(
    "129 every notation can draw it",
    { machine: grouped },
    ({ machine }) =>
      Effect.gen(function* () {
        const svg = yield* Svg.render(machine)
        const { edges } = Scene.make(machine)
        expect(readXml(svg).filter((one) => one.name === "polygon").length).toBeGreaterThanOrEqual(edges.length)
        const states = yield* Effect.promise(() => readState(Mermaid.stateDiagram(machine)))
        const flow = yield* Effect.promise(() => readFlow(Mermaid.flowchart(machine)))
        expect(states.edges).toHaveLength(edges.length)
        expect(flow.edges).toHaveLength(edges.length)
        const graphviz = yield* Effect.promise(() => Graphviz.load())
        const read = JSON.parse(graphviz.dot(Dot.structure(machine), "dot_json")) as { edges?: ReadonlyArray<object> }
        expect(read.edges ?? []).toHaveLength(edges.length)
      }),
    { arbitrary: { runs: 5 } },
  )
})

it("129 a rule for a group reads like one in Mermaid", () => {
  expect(Mermaid.stateDiagram(documentWorkflow)).toContain("Editing --> Waiting : Submit [isComplete]")
  expect(Mermaid.stateDiagram(documentWorkflow)).toContain("Checks --> Changing : Reject / notifyAuthor")
})
