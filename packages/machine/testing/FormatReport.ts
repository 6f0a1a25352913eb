/** The report of `explore` as text for people. */
import type { ConstantGuard, ExploreReport, ObservedTargets, StateFinding, Throwing } from "./ExploreReport.ts"
import { problemsIn } from "./ExploreReport.ts"

interface Section {
  readonly mark: "✗" | "?" | "–"
  readonly title: string
  readonly hint: string
  readonly lines: ReadonlyArray<string>
}

/** The report as text: the verdict first, then each kind of finding with its next step. */
export const formatReport = (report: ExploreReport): string => {
  const sections = sectionsOf(report).filter((section) => section.lines.length > 0)
  return [
    `${report.machine} (version ${report.version}): ${verdictOf(report)}`,
    `${report.decisions} decisions made; repeat them with { seed: ${JSON.stringify(report.seed)} }`,
    ...sections.flatMap(({ mark, title, hint, lines }) => ["", `${mark} ${title}`, ...lines.map((line) => `    ${line}`), `  ${hint}`]),
    ...(report.observedTargets.length === 0 ? [] : ["", "Where events led", ...report.observedTargets.map(targetsLine)]),
    "",
  ].join("\n")
}

const verdictOf = (report: ExploreReport): string => {
  const problems = problemsIn(report)
  const hints = report.neverProduced.length + report.constantGuards.length
  const found = problems === 0 ? "no problems found" : `${problems} ${problems === 1 ? "problem" : "problems"} found`
  const unsure = hints === 0 ? "" : `, ${hints} ${hints === 1 ? "hint" : "hints"}`
  return `${found}${unsure}${report.notExplored.length === 0 ? "" : ", not everything could be explored"}`
}

const sectionsOf = (report: ExploreReport): ReadonlyArray<Section> => [
  {
    mark: "✗",
    title: "Functions that throw",
    hint: "Handle these values, or narrow the schemas so that they cannot occur.",
    lines: report.throwing.flatMap(throwingLines),
  },
  {
    mark: "✗",
    title: "Automatic transitions that never end",
    hint: "Let a guard end the cycle.",
    lines: report.endlessAlways.flatMap(({ state, event, path, sample }) => [
      `${state} × ${event}: ${path.join(" → ")} …`,
      `  on ${sample.text}`,
    ]),
  },
  {
    mark: "✗",
    title: "States never reached from the start",
    hint: "Add a transition that leads there, remove the state, or pass { starts } it is reached from.",
    lines: report.unreachable.map(findingLine("no declared transition leads there", "declared transitions lead there, but none was taken")),
  },
  {
    mark: "✗",
    title: "States that cannot be left and are not final",
    hint: "Add a way out, or declare the state final.",
    lines: report.deadEnds.map(findingLine("nothing leads out", "ways out are declared, but none was taken")),
  },
  {
    mark: "✗",
    title: "Events no state handles",
    hint: "Add a transition, or remove the event.",
    lines: report.unhandledEvents,
  },
  {
    mark: "?",
    title: "Targets declared but never produced",
    hint: "Remove the target, or check what the decision depends on: generated values may never produce it.",
    lines: report.neverProduced.map(({ states, events, target }) => `${states.join(", ")} × ${events.join(", ")} → ${target}`),
  },
  {
    mark: "?",
    title: "Guards that never vary",
    hint: "Remove the guard, or check what it depends on: generated values may never give the other answer.",
    lines: report.constantGuards.map(guardLine),
  },
  {
    mark: "–",
    title: "Slots used but not declared",
    hint: "Name them in `requests` and `guards` of the transition or hook, so that diagrams show them.",
    lines: report.undeclaredSlots.map(({ where, slots }) => `${where}: ${slots.join(", ")}`),
  },
  {
    mark: "–",
    title: "Not explored",
    hint: "Test these by hand, with simulateEffect or createTestHarness.",
    lines: report.notExplored.map(({ what, why }) => `${what}: ${why}`),
  },
]

const targetsLine = ({ state, event, targets }: ObservedTargets): string =>
  `    ${state} × ${event} → ${targets.map(({ target, times }) => `${target} (${times})`).join(", ")}`

const findingLine =
  (certainly: string, apparently: string) =>
  ({ state, certain }: StateFinding): string =>
    `${state}: ${certain ? certainly : apparently}`

const guardLine = ({ guard, answer, asked }: ConstantGuard): string =>
  answer === undefined ? `${guard}: never asked` : `${guard}: always ${answer ? "yes" : "no"} (asked ${asked} times)`

const throwingLines = ({ state, event, phase, message, times, sample, reached }: Throwing): ReadonlyArray<string> => [
  `${state} × ${event}: ${phase} failed ${times === 1 ? "once" : `${times} times`}: ${message}`,
  `  on ${sample.text}`,
  reached ? "  reached from the start" : "  the state fits its schema, but was not reached from the start",
]
