/** The reference of the command line, from the table that `--help` reads. */
import { usageOf } from "../../packages/cli/src/line/help.mjs"
import { globalOptions } from "../../packages/cli/src/line/options.mjs"
import { commands, nouns } from "../../packages/cli/src/line/table.mjs"
import { document, escaped, generatedNote, sentence, table } from "./markdown.mjs"

/** @typedef {import("../../packages/cli/src/line/Command.ts").Command} Command */
/** @typedef {import("../../packages/cli/src/line/Command.ts").Option} Option */

export function cliPage() {
  const single = commands.filter(({ name }) => !name.includes(" "))
  return document([
    "# Command line",
    `${generatedNote("the command table of `@detent/cli`, which `--help` reads too")} \`detent COMMAND --help\` shows the same in a terminal.`,
    "In a clone and in a project that `detent init` made, the command is `npx detent`.",
    "## Options of every command",
    options(globalOptions),
    "## Exit codes",
    table(
      ["code", "meaning"],
      [
        ["0", "Done."],
        ["1", "Failed."],
        ["2", "Wrong usage: an option, an argument, a file that one names, or JSON that does not fit."],
        ["3", "Not found."],
        ["4", "Not possible in this state: the state, the role, a key that is taken, or the user did not agree."],
        ["5", "A batch or an upload finished in part."],
        ["130", "Interrupted."],
      ],
    ),
    "## Run",
    ...single.map(section),
    ...nouns.flatMap(({ name, summary }) => [
      `## ${name}`,
      sentence(escaped(summary)),
      ...commands.filter((command) => command.name.startsWith(`${name} `)).map(section),
    ]),
  ])
}

/** @param {Command} command */
function section(command) {
  return document([
    `### detent ${command.name}`,
    sentence(escaped(command.summary)),
    command.detail === undefined
      ? ""
      : command.detail
          .split("\n")
          .map((line) => sentence(escaped(line)))
          .join(" "),
    `\`\`\`\ndetent ${usageOf(command)}\n\`\`\``,
    table(
      ["argument", "meaning"],
      command.arguments.map((one) => [`\`${one.name.toUpperCase()}\``, meaning(one.summary, one.choices, undefined)]),
    ),
    options(command.options),
    ...command.examples.map(({ line, says }) => `${sentence(escaped(says))}\n\n\`\`\`sh\n${line}\n\`\`\``),
  ]).trimEnd()
}

/** @param {ReadonlyArray<Option>} some */
function options(some) {
  return table(
    ["option", "meaning"],
    some.map(({ name, short, kind, value, choices, summary, default: fallback }) => [
      `\`${short === undefined ? "" : `-${short}, `}--${name}${kind === "flag" ? "" : ` ${value ?? "VALUE"}`}\``,
      meaning(summary, choices, fallback),
    ]),
  )
}

/**
 * @param {string} summary
 * @param {ReadonlyArray<string> | undefined} choices
 * @param {string | number | undefined} fallback
 */
function meaning(summary, choices, fallback) {
  const one = choices === undefined ? "" : ` One of ${choices.map((choice) => `\`${choice}\``).join(", ")}.`
  return `${sentence(escaped(summary))}${one}${fallback === undefined ? "" : ` Default: \`${fallback}\`.`}`
}
