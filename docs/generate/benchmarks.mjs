/** The page of measurements, and the figures that other documents name, from the file that `npm run bench -- --record` writes. */
import { groups, notMeasured } from "../../bench/groups.mjs"
import { readRecording } from "../../bench/record.mjs"
import { document, escaped, sentence, table } from "./markdown.mjs"

/** @typedef {import("../../bench/record.mjs").RecordedPart} RecordedPart */
/** @typedef {import("../../bench/record.mjs").Recording} Recording */
/** @typedef {import("../../bench/record.mjs").Goal} Goal */

export function benchmarksPage(recording = readRecording()) {
  return document([
    "# Benchmarks",
    "This page is generated from `docs/benchmarks.json`, which `npm run bench -- --record` writes. Every table has the command that measures it again, with its date and its machine. The benchmarks install the peers in `bench/` on first use, and run PostgreSQL with fsync on.",
    "All contestants of a table take turns, so that other load on the machine affects all of them. Figures are medians over the turns. Rates depend on the machine: ratios and CPU times say more. A measurement with `--quick` has fewer rounds.",
    ...Object.entries(groups).flatMap(([group, { about, parts }]) => {
      const recorded = Object.entries(recording[group] ?? {}).filter(([name]) => Object.hasOwn(parts, name))
      if (recorded.length === 0) return []
      return [
        `## ${titled(group)}`,
        sentence(escaped(about)),
        ...recorded.flatMap(([name, part]) => partSection(group, name, parts[name] ?? "", part)),
      ]
    }),
    ...notRecorded(recording),
    "## Engines that are not measured",
    "They do not run from packages of the npm registry alone, so `npm run bench` cannot install them:",
    Object.entries(notMeasured)
      .map(([name, why]) => `- ${name}: ${why}.`)
      .join("\n"),
  ])
}

/**
 * @param {string} group
 * @param {string} name
 * @param {string} about
 * @param {RecordedPart} part
 */
function partSection(group, name, about, part) {
  return [
    `### ${titled(group)}: ${name}`,
    sentence(titled(escaped(about))),
    `\`\`\`sh\n${commandOf(group, name, part)}\n\`\`\``,
    `Measured on ${circumstances(part)}.`,
    ...part.tables.flatMap(({ title, columns, rows, notes = [] }) => [
      `**${escaped(title)}**`,
      table(
        columns.map(escaped),
        rows.map((row) => row.map(escaped)),
      ),
      escaped(notes.join(" ")),
    ]),
    table(
      ["goal", "measured", "limit", ""],
      part.goals.map((goal) => [
        sentence(titled(escaped(goal.about))),
        short(part.figures[goal.key] ?? Number.NaN),
        goal.atLeast === undefined ? `at most ${short(goal.atMost ?? 0)}` : `at least ${short(goal.atLeast)}`,
        isMet(goal, part.figures[goal.key] ?? Number.NaN) ? "met" : "**not met**",
      ]),
    ),
  ]
}

/** @param {Recording} recording */
function notRecorded(recording) {
  const missing = Object.entries(groups).flatMap(([group, { parts }]) =>
    Object.keys(parts)
      .filter((name) => recording[group]?.[name] === undefined)
      .map((name) => `\`npm run bench -- ${group} --only ${name}\``),
  )
  if (missing.length === 0) return []
  return [
    "## Not recorded",
    "These measurements exist, and their results are not in the file:",
    missing.map((command) => `- ${command}`).join("\n"),
  ]
}

/**
 * A figure that a document names, made from recorded figures; the command is the one that measured them. An optional one is left out where it
 * is not recorded.
 *
 * @typedef {{
 *   readonly what: string
 *   readonly group: string
 *   readonly part: string
 *   readonly isOptional?: boolean
 *   readonly text: (figures: Readonly<Record<string, number>>) => string
 * }} NamedFigure
 */

/**
 * The figures of the README.
 *
 * @type {ReadonlyArray<NamedFigure>}
 */
const readmeFigures = [
  {
    what: "workflows of ten steps on PostgreSQL",
    group: "durable",
    part: "workflow",
    text: (of) => `${rate(of["workflow.pg.perSecond"])} a second, ${factor(of["workflow.pg.vsDbos"])} times DBOS on the same server`,
  },
  {
    what: "one instance on PostgreSQL, one transition after the other",
    group: "durable",
    part: "single",
    text: (of) => `${rate(of["single.pg.perSecond"])} a second, ${factor(of["single.pg.vsDbos"])} times the steps of one DBOS workflow`,
  },
  {
    what: "workflows of ten steps, beside other engines",
    group: "peers",
    part: "steps",
    isOptional: true,
    text: (of) =>
      `${factor(of["steps.vsDbos"])} times DBOS, ${factor(of["steps.vsEffect"])} Effect's engine, ${factor(of["steps.vsRestate"])} Restate`,
  },
  {
    what: "`kill -9` halfway through 1,000 instances",
    group: "durable",
    part: "recovery",
    text: (of) =>
      `${of["recovery.lost"] === 0 ? "nothing" : `${of["recovery.lost"]} events`} lost; the first event is stored ${Math.round(of["recovery.firstProgressMillis"] ?? Number.NaN)} ms after the restart`,
  },
]

/**
 * What instances and events cost: the figures of `docs/guides/limits.md`.
 *
 * @type {ReadonlyArray<NamedFigure>}
 */
export const costFigures = [
  {
    what: "write-ahead log of a transition on PostgreSQL, events of 200 bytes",
    group: "durable",
    part: "transitions",
    text: (of) => `${short(of["transitions.pg.walBytes"])} bytes`,
  },
  {
    what: "syncs of PostgreSQL for a transition, 50 at once",
    group: "durable",
    part: "transitions",
    text: (of) => short(of["transitions.pg.syncs"]),
  },
  {
    what: "CPU of a transition, Node and PostgreSQL",
    group: "durable",
    part: "transitions",
    text: (of) => `${short(of["transitions.pg.nodeCpuUs"])} µs and ${short(of["transitions.pg.postgresCpuUs"])} µs`,
  },
  {
    what: "CPU of executing a command, Node and PostgreSQL together",
    group: "durable",
    part: "commands",
    text: (of) => `${short(of["completeCpu.micros"])} µs`,
  },
  {
    what: "heap of a live instance with a timer, without its state",
    group: "durable",
    part: "memory",
    text: (of) => `${short(of["instance.heapBytes"])} bytes`,
  },
  {
    what: "heap of a workflow that sleeps",
    group: "durable",
    part: "workflow",
    text: (of) => `${short(of["workflow.sleepingBytes"])} bytes`,
  },
  {
    what: "opening an instance of 100,000 events that has a snapshot",
    group: "durable",
    part: "replay",
    text: (of) => `${short(of["snapshotOpen.millis"])} ms, ${factor(of["snapshotOpen.speedup"])} times faster than from its journal`,
  },
]

/**
 * What is measured, the figure, and the command that measures it again.
 *
 * @param {ReadonlyArray<NamedFigure>} figures
 * @param {Recording} recording
 */
function figuresTable(figures, recording) {
  const recorded = figures.flatMap((figure) => {
    const part = recording[figure.group]?.[figure.part]
    if (part === undefined && figure.isOptional === true) return []
    if (part === undefined) throw new Error(`docs/benchmarks.json has no ${figure.group} ${figure.part}; record it with npm run bench`)
    return [{ ...figure, recorded: part }]
  })
  const rows = recorded.map(({ what, group, part, text, recorded: { figures, quick, machine } }) => [
    what,
    text(figures),
    String(machine.load),
    `\`npm run bench -- ${group} --only ${part}${quick ? " --quick" : ""}\``,
  ])
  const places = [...new Set(recorded.map(({ recorded: { date, machine } }) => `${date} on ${hostOf(machine)}`))]
  return `${aligned(["what", "measured", "load before", "command"], rows)}\n\nMeasured ${places.join("; ")}. The load is the load average before the start.`
}

/**
 * The README, or another document, with the recorded figures between `<!-- figures -->` and `<!-- end of figures -->`.
 *
 * @param {string} text
 */
export function withFigures(text, figures = readmeFigures, recording = readRecording()) {
  const block = /(?<=<!-- figures -->\n)[\s\S]*?(?=<!-- end of figures -->)/
  if (!block.test(text)) throw new Error("the document has no <!-- figures --> and <!-- end of figures -->; put the table between them")
  return text.replace(block, `\n${figuresTable(figures, recording)}\n\n`)
}

/**
 * @param {string} group
 * @param {string} name
 * @param {RecordedPart} part
 */
function commandOf(group, name, { quick }) {
  return `npm run bench -- ${group} --only ${name}${quick ? " --quick" : ""}`
}

/** @param {RecordedPart} part */
function circumstances({ date, quick, machine }) {
  return `${date}${quick ? " with `--quick`" : ""}: ${describe(machine)}`
}

/** @param {import("../../bench/record.mjs").MachineDescription} machine */
function describe(machine) {
  return `${hostOf(machine)}, load average ${machine.load} before the start`
}

/** @param {import("../../bench/record.mjs").MachineDescription} machine */
function hostOf({ cpu, cores, memoryGb, system, node }) {
  const name = cpu === "unknown" ? "" : ` (${cpu})`
  return `${cores} cores${name}, ${memoryGb} GB of memory, ${system}, Node.js ${node}`
}

/** @param {Goal} goal @param {number} value */
function isMet({ atLeast = -Infinity, atMost = Infinity }, value) {
  return value >= atLeast && value <= atMost
}

/** @param {string} text */
function titled(text) {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Two digits are as exact as a rate is from one run to the next. @param {number | undefined} value */
function rate(value) {
  return Number((value ?? Number.NaN).toPrecision(2)).toLocaleString("en")
}

/** @param {number | undefined} value */
function factor(value = Number.NaN) {
  return value >= 10 ? value.toFixed(0) : value.toFixed(1)
}

/** @param {number | undefined} value */
function short(value = Number.NaN) {
  if (value >= 1000) return Math.round(value).toLocaleString("en")
  return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)))
}

/**
 * A table whose columns stand under each other in the source too.
 *
 * @param {ReadonlyArray<string>} heads
 * @param {ReadonlyArray<ReadonlyArray<string>>} rows
 */
function aligned(heads, rows) {
  const widths = heads.map((head, column) => Math.max(head.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const line = (/** @type {ReadonlyArray<string>} */ cells) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`
  return [line(heads), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n")
}
