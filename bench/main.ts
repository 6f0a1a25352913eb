/** Measures one group and prints the results. Started by run.mjs, which has read the command line. */

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

// Before the measurement adds to the load.
const machine = describeMachine()

const choice: Choice = JSON.parse(process.argv[2] ?? "{}")
const { default: group }: { readonly default: Group } = await import(`./groups/${choice.group}/index.ts`)

try {
  const figures = await measure()
  printGoals(group.goals, figures)
  if (choice.json) console.log(JSON.stringify(rounded(figures)))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

async function measure(): Promise<Figures> {
  const figures: Record<string, number> = {}
  for (const [name, part] of Object.entries(group.parts)) {
    if (choice.only !== undefined && choice.only !== name) continue
    const { tables, figures: found } = await part({ quick: choice.quick })
    for (const table of tables) printTable(table)
    Object.assign(figures, found)
    if (choice.record) record(name, { tables, figures: found })
  }
  return figures
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
