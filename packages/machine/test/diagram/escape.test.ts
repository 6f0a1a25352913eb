import { spawnSync } from "node:child_process"
import { it as effectIt } from "@effect/vitest"
import { Graphviz } from "@hpcc-js/wasm-graphviz"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"
import { unless } from "../../../store/test/support/skipping.ts"
import type { CommandRecord } from "../../src/diagram/CommandReport.ts"
import * as Escape from "../../src/diagram/Escape.ts"
import { CommandReport, Dot, Mermaid, Svg } from "../../src/diagram/index.ts"
import { lineText } from "../../src/diagram/LineText.ts"
import * as Scene from "../../src/diagram/Scene.ts"
import { blueprint, on, state } from "./fixtures.ts"
import { fragments, machineOf, name, names, pathOf } from "./names.ts"
import { readFlow, readSequence, readState } from "./readMermaid.ts"
import { readXml } from "./readXml.ts"

// Each run draws a machine with up to 15 hostile names in every place a name can have, so a few runs go a long way.
const runs = { arbitrary: { runs: 12 } }

const hostile = (size: number): ReadonlyArray<ReadonlyArray<string>> =>
  fragments.flatMap((_, index) => (index % size === 0 ? [fragments.slice(index, index + size)] : []))

const commandsOf = (all: ReadonlyArray<string>): ReadonlyArray<CommandRecord> =>
  all.map((one, index) => ({
    id: one,
    instance: all[index % 2] ?? "",
    name: one,
    status: index % 2 === 0 ? "failed" : "completed",
    attempts: index,
    error: one,
  }))

const sceneOf = (all: ReadonlyArray<string>) => Scene.make(machineOf(all), { fields: true, trace: pathOf(all) })

describe("131 names", () => {
  it("131 are cut after 40 characters, between the characters a reader sees", () => {
    expect(Escape.cut("a".repeat(40))).toBe("a".repeat(40))
    expect(Escape.cut("a".repeat(41))).toBe(`${"a".repeat(39)}…`)
    expect(Escape.cut("👩‍👩‍👧".repeat(50))).toBe(`${"👩‍👩‍👧".repeat(20)}…`)
    expect(Escape.cut("word ".repeat(20))).toBe(`${"word ".repeat(8).trimEnd()}…`)
  })

  it("131 lose line breaks, control characters and marks that reorder text", () => {
    expect(Escape.clean("a\r\n\tb\u0000\u202ec\ud800")).toBe("a b��c�")
    expect(Escape.clean(" \n ")).toBe("␣")
    expect(Escape.clean("שלום 日本語 😀")).toBe("שלום 日本語 😀")
  })

  it("131 are left alone where they are plain", () => {
    for (const plain of ["Pay", "snake_case", "kebab-case", "notes on Ω", "after 1.5 hours (soon)", "Ship [inStock?] / notify"]) {
      expect(Escape.mermaid(plain)).toBe(plain)
    }
    expect(Escape.mermaid('say "<end>"; #1: 50%')).toBe("say #quot;#lt;end#gt;#quot;#59; #35;1#58; 50#37;")
    expect(Escape.dot('a\\N "b" & <c>')).toBe('a\\\\N \\"b\\" &amp; &lt;c&gt;')
  })

  it("131 keep their backslashes in the labels of Graphviz, which gives some of them a meaning", () => {
    const machine = blueprint("m", { states: [state("a\\N", [], { requestsOnEnter: ["b\\G]"] })], transitions: [] })
    expect(Dot.structure(machine)).toContain("<b>a&#92;N</b>")
    expect(Dot.structure(machine)).toContain("⚙ b&#92;G&#93; on enter")
  })

  it("131 are cut as lists too", () => {
    const guards = Array.from({ length: 30 }, (_, index) => `guard${index}`)
    const machine = blueprint("m", { states: [state("A"), state("B")], transitions: [on("A", "Go", "B", { guards })] })
    expect(Mermaid.stateDiagram(machine)).toMatch(/: Go \[guard0, .{40,52}…\]\n/)
  })

  it("131 stand for themselves in Mermaid where they are plain words, and get an alias where not", () => {
    const machine = blueprint("m", {
      states: [state("Open", [], { initial: true }), state("end"), state("s1"), state("on hold")],
      transitions: [on("Open", "Go", "end"), on("end", "Go", "s1"), on("s1", "Go", "on hold")],
    })
    expect(Mermaid.stateDiagram(machine).split("\n").slice(1, 9)).toEqual([
      "  Open",
      '  state "end" as s2',
      "  s1",
      '  state "on hold" as s3',
      "  [*] --> Open",
      "  Open --> s2 : Go",
      "  s2 --> s1 : Go",
      "  s1 --> s3 : Go",
    ])
  })
})

describe("131 Mermaid parses whatever the names, and shows them", () => {
  effectIt.effect.prop(
    "131 state diagrams",
    { all: names },
    ({ all }) =>
      Effect.promise(async () => {
        const scene = sceneOf(all)
        const read = await readState(Mermaid.stateDiagram(machineOf(all), { fields: true, trace: pathOf(all) }))
        const marked = (one: { readonly taken: boolean }, text: string) => (one.taken ? `● ${text}` : text)
        const boxes = [...scene.boxes, ...(scene.any === undefined ? [] : [scene.any])]
        const expected = boxes.map((box) => [box.name, ...box.lines.map((line) => marked(line, lineText(line)))])
        const shown = [...read.nodes].map(([id, lines]) => (lines.length === 0 ? [id] : lines))
        expect(shown.map(String).sort()).toEqual([...expected, ...scene.stops.map((stop) => [`⊗ ${stop.reason}`])].map(String).sort())
        expect(read.groups.size).toBe(scene.groups.length)
        expect(read.edges.filter((edge) => edge.to !== "root_end").map((edge) => edge.label)).toEqual(
          scene.edges.map((edge) =>
            edge.kind === "Initial" ? "" : marked(edge, edge.kind === "Timeout" ? `◷ ${edge.label.join(" ")}` : edge.label.join(" ")),
          ),
        )
      }),
    runs,
  )

  effectIt.effect.prop(
    "131 flowcharts",
    { all: names },
    ({ all }) =>
      Effect.promise(async () => {
        const scene = sceneOf(all)
        const read = await readFlow(Mermaid.flowchart(machineOf(all), { fields: true, trace: pathOf(all) }))
        const boxes = [...scene.boxes, ...(scene.any === undefined ? [] : [scene.any])]
        expect([...read.nodes.values()].map(String).sort()).toEqual(
          [...boxes.map((box) => [box.name, ...box.lines.map(lineText)]), [""], ...scene.stops.map((stop) => [`⊗ ${stop.reason}`])]
            .map(String)
            .sort(),
        )
        expect(read.groups.size).toBe(scene.groups.length)
        expect(read.edges.map((edge) => edge.label)).toEqual(scene.edges.map((edge) => edge.label.join(" ")))
      }),
    runs,
  )

  effectIt.effect.prop(
    "131 sequences",
    { all: names },
    ({ all }) =>
      Effect.promise(async () => {
        const trace = pathOf(all)
        const { actors, messages } = await readSequence(Mermaid.sequence(trace, { fields: true, commands: commandsOf(all) }))
        expect(actors).toEqual(["Events", `${Escape.cut(trace.machine)} ${Escape.cut(trace.id)}`, "Commands"])
        expect(messages.filter((message) => message.startsWith("m→c"))).toEqual(trace.steps.map((one) => `m→c ⚙ ${Escape.cut(one.event)}`))
      }),
    runs,
  )

  effectIt.effect.prop(
    "131 command flowcharts",
    { all: names },
    ({ all }) =>
      Effect.promise(async () => {
        const { nodes } = await readFlow(CommandReport.flowchart(commandsOf(all)))
        expect([...nodes.values()].flat()).toEqual(expect.arrayContaining(all.map((one) => Escape.cut(one))))
      }),
    runs,
  )

  it("131 each hostile word, as the name of a state and of an event", async () => {
    // Many in a diagram: most of the time goes into starting a parser.
    for (const some of hostile(20)) {
      const machine = blueprint("m", {
        states: [...some.map((one, index) => state(one, [], { initial: index === 0 })), state("Other")],
        transitions: some.map((one) => on(one, one, "Other")),
      })
      for (const read of [await readState(Mermaid.stateDiagram(machine)), await readFlow(Mermaid.flowchart(machine))]) {
        expect(read.edges.map((edge) => edge.label)).toEqual(["", ...some.map((one) => Escape.cut(one))])
      }
    }
  })
})

describe("131 Graphviz reads whatever the names", () => {
  const textsOf = (all: ReadonlyArray<string>) => [
    Dot.structure(machineOf(all), { fields: true, trace: pathOf(all) }),
    Dot.timeline(pathOf(all)),
  ]

  effectIt.effect.prop(
    "131 structure and timeline",
    { all: names },
    ({ all }) =>
      Effect.promise(async () => {
        const graphviz = await Graphviz.load()
        const scene = sceneOf(all)
        const [structure = "", timeline = ""] = textsOf(all)
        const read = JSON.parse(graphviz.dot(structure, "dot_json")) as {
          objects: ReadonlyArray<{ name: string }>
          edges: ReadonlyArray<object>
        }
        const markers = 1 + scene.stops.length + (scene.any === undefined ? 0 : 1)
        expect(read.objects).toHaveLength(scene.boxes.length + scene.groups.length + markers)
        expect(read.edges).toHaveLength(scene.edges.length)
        expect(graphviz.dot(timeline, "svg")).toContain("</svg>")
      }),
    runs,
  )

  const noGraphviz = spawnSync("dot", ["-V"]).status === 0 ? undefined : "Graphviz (dot) is not installed"

  it("131 also the installed Graphviz, which may be years old", unless(noGraphviz), () => {
    for (const text of hostile(12).flatMap((some) => textsOf([...new Set(["Start", ...some])]))) {
      // One process for each graph: version 2.43 crashes on some pairs of graphs it draws well alone.
      const { status, stderr } = spawnSync("dot", ["-Tsvg"], { input: text, encoding: "utf8" })
      expect([status, stderr.split("\n").filter((line) => /error|not well-formed/i.test(line)), text]).toEqual([0, [], text])
    }
  })
})

describe("131 SVG is well-formed whatever the names", () => {
  effectIt.effect.prop(
    "131 and shows them",
    // Fewer names, since the layout takes much longer for many.
    { all: Arbitrary.map(names, (all) => all.slice(-5)) },
    ({ all }) =>
      Effect.map(Svg.render(machineOf(all), { fields: true, trace: pathOf(all) }), (text) => {
        const shown = readXml(text).map((element) => element.text)
        expect(shown).toEqual(expect.arrayContaining(all.map((one) => Escape.cut(one))))
      }),
    { ...runs, arbitrary: { runs: 6 } },
  )

  effectIt.effect.prop("131 whatever the name, its escape is read as the name and never undoes a cut", { one: name }, ({ one }) =>
    Effect.sync(() => {
      expect(Escape.cut(Escape.cut(one))).toBe(Escape.cut(one))
      expect(readXml(`<text title="${Escape.xml(one)}">${Escape.xml(one)}</text>`)[0]).toEqual({
        name: "text",
        attributes: { title: Escape.clean(one) },
        text: Escape.clean(one),
      })
      expect(Escape.markdown(Escape.cut(one))).not.toMatch(/\n|(?<!\\)\|/)
    }),
  )
})
