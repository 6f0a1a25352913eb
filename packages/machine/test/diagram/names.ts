/** Machines whose every name is hostile: for the property that any name can be drawn. */

import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import type { Trace } from "../../src/actor/Trace.ts"
import type { Blueprint } from "../../src/contract/Blueprint.ts"
import { after, always, blueprint, event, group, on, postpone, state, stay, step, stop, traceOf } from "./fixtures.ts"

/** What has a meaning somewhere in Mermaid, DOT, XML, Markdown or JavaScript. */
export const fragments = [
  ..."\"'`<>&;:#%{}[]()|\\/-=~*_^$@!?+.,\n\r\t ",
  ...[
    "end",
    "state",
    "State",
    "graph",
    "note",
    "Note",
    "class",
    "classDef",
    "style",
    "click",
    "default",
    "scale",
    "subgraph",
    "direction LR",
  ],
  ...[
    "Direction  TB",
    "as",
    "left of",
    "accTitle: x",
    "accDescr {",
    "hide empty description",
    "call",
    "href",
    "linkStyle",
    "v",
    "x",
    "o",
    "TB",
  ],
  ...["participant", "loop", "par", "rect", "title x", "autonumber", "over", "wrap:", "strict", "digraph", "node", "edge", "start", "root"],
  ...[
    "-->",
    "--",
    "-.->",
    "==>",
    "->>",
    "--x",
    ":::",
    "<<fork>>",
    "[[choice]]",
    "[*]",
    "%%",
    "%%{init: {}}%%",
    "---",
    "```",
    "$$x$$",
    "@{ shape: a }",
  ],
  ...[
    "#quot;",
    "#35;",
    "&amp;",
    "&#x0;",
    "&bogus;",
    "ﬂ°°35¶ß",
    "<br/>",
    "<script>",
    "]]>",
    "<!--",
    "\\N",
    "\\G",
    '\\"',
    "\\",
    "\\\\",
    "1. a",
    "- a",
    "+ a",
  ],
  ...["style x:#a;", "classDef x:#a;", "s1", "g1", "any1", "stop1", "initial1", "__proto__", "constructor", "toString", "hasOwnProperty"],
  ...["\u0000", "\u0007", "\u001b[31m", "\u007f", "\u0085", "\u2028", "\ufeff", "\ud800", "\udc00", "\uffff", "\u202e", "\u2066"],
  ...[
    "😀",
    "👩‍👩‍👧",
    "é",
    "e\u0301",
    "日本語",
    "مرحبا",
    "שלום",
    "a".repeat(200),
    "😀".repeat(60),
    `e${"\u0301".repeat(300)}`,
    "snake_case",
    "kebab-case",
  ],
]

const fragment = Arbitrary.schema(Schema.Union([Schema.Literals(fragments), Schema.String]))

export const name = Arbitrary.map(Arbitrary.array(fragment, { maxLength: 5 }), (parts) => parts.join(""))

export const names = Arbitrary.map(Arbitrary.array(name, { minLength: 4, maxLength: 12 }), (all) => [
  ...new Set([...all, "s1", "end", "Plain"]),
])

/** A machine that uses the names in every place where a name can stand. */
export const machineOf = (all: ReadonlyArray<string>): Blueprint => {
  const at = (index: number): string => all[index % all.length] ?? ""
  return blueprint(at(0), {
    states: all.map((tag, index) =>
      state(tag, [at(index + 1), `!${at(index + 2)}`], {
        initial: index === 0,
        final: index === all.length - 1,
        group: index === 1 ? at(3) : index === 2 ? at(4) : undefined,
        requestsOnEnter: index === 0 ? [at(1)] : [],
        requestsOnExit: index === 1 ? [at(2)] : [],
        runs: index === 2 ? [at(3)] : [],
      }),
    ),
    stateGroups: [group(at(3), [at(1)]), group(at(4), [at(2)], at(3))],
    events: all.map((tag) => event(tag)),
    transitions: [
      ...all.map((from, index) =>
        on(from, at(index + 1), [at(index + 1), at(index + 2)], { guards: [at(index)], requests: [at(index + 3)] }),
      ),
      ...all.map((from, index) => on(from, at(index + 3), from)),
      on(at(0), at(1), at(0), { reenter: true, description: at(2) }),
      on(at(1), at(0), stay),
      on(at(1), at(2), stop(at(3))),
      on(at(0), at(3), stop()),
      on(at(2), at(2), at(3), { fallback: true }),
      on(at(2), at(1), stay, { fallback: true }),
      postpone(at(2), at(0)),
      // What both states of the outer group share, so that it stands at the group.
      ...[at(1), at(2)].flatMap((from) => [on(from, at(4), at(0)), on(from, at(5), at(0)), postpone(from, at(3))]),
      after(at(2), at(1), at(0), { name: at(2) }),
      after(at(2), undefined, at(1), { name: at(0) }),
      always(at(1), at(2), { guards: [at(0)] }),
    ],
  })
}

export const pathOf = (all: ReadonlyArray<string>): Trace => ({
  ...traceOf(
    all[0] ?? "",
    all[0] ?? "",
    all.slice(1).map((to, index) =>
      step(index + 1, all[index] ?? "", to, to, {
        at: index === 0 ? Number.NaN : index === 1 ? 1e300 : index,
        fields: { [to]: to, other: [to] },
        requests: [to],
        through: [to],
      }),
    ),
  ),
  stopped: all[1],
})
