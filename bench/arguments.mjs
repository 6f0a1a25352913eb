/** The command line of the benchmarks. */
import { parseArgs } from "node:util"
import { groups } from "./groups.mjs"

/**
 * @typedef {{
 *   readonly group: string
 *   readonly quick: boolean
 *   readonly json: boolean
 *   readonly record: boolean
 *   readonly only: string | undefined
 * }} Choice
 */

export const help = `Measures Detent beside its peers on this machine.

  npm run bench -- GROUP [--quick] [--json] [--record] [--only PART]
  npm run bench -- --record [--quick]

Groups and their parts:
${Object.entries(groups)
  .map(([name, { about, parts }]) => {
    const lines = Object.entries(parts).map(([part, what]) => `    ${part.padEnd(13)}${what}\n`)
    return `  ${name.padEnd(12)}${about}\n${lines.join("")}`
  })
  .join("")}
Options:
  --quick       Fewer rounds: each part in less than a minute, and a little less exact.
  --json        Prints all figures as one line of JSON at the end.
  --record      Writes the results to docs/benchmarks.json, the source of the tables of the site and the figures of the
                README. Without a group, measures all groups.
  --only PART   Measures one part of the group.
  --help        Prints this text.

All contestants of a table take turns, so that other load on the machine affects all of them; figures are medians over
the turns. The group machine measures CPU time over several processes; durable measures wall-clock time on a PostgreSQL of
its own with fsync on. The peers are installed in bench/ on first use, those of the group peers with that group. The group
scale uses up to 58 GB of the temporary folder (TMPDIR), removes them at its end, and scales down where there is less.
Examples: npm run bench -- machine --quick
          npm run bench -- machine --only decide --json
          npm run bench -- durable --only timers --quick`

/**
 * @param {ReadonlyArray<string>} args
 * @returns {{ readonly choices: ReadonlyArray<Choice> } | { readonly help: true } | { readonly problem: string }} one choice for each group to measure
 */
export function readArguments(args) {
  let parsed
  try {
    parsed = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        quick: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        record: { type: "boolean", default: false },
        only: { type: "string" },
        help: { type: "boolean", short: "h", default: false },
      },
    })
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) }
  }
  const { values, positionals } = parsed
  if (values.help) return { help: true }
  const { quick, json, record, only } = values
  const [group, ...rest] = positionals
  if (group === undefined && record && only === undefined) {
    return { choices: Object.keys(groups).map((name) => ({ group: name, quick, json, record, only })) }
  }
  if (group === undefined) return { problem: `No group is given. Use one of ${names(groups)}.` }
  if (rest.length > 0) return { problem: `Only one group can be measured at a time; remove ${rest.join(" ")}.` }
  const chosen = Object.hasOwn(groups, group) ? groups[group] : undefined
  if (chosen === undefined) return { problem: `There is no group ${group}; use one of ${names(groups)}.` }
  if (only !== undefined && !Object.hasOwn(chosen.parts, only)) {
    return { problem: `${group} has no part ${only}; use one of ${names(chosen.parts)}.` }
  }
  return { choices: [{ group, quick, json, record, only }] }
}

/** @param {object} of */
function names(of) {
  return Object.keys(of).join(", ")
}
