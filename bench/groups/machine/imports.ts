/** The cost of importing the package, beside the Effect modules it needs. */
import { join } from "node:path"
import { write } from "../../measure/Generated.ts"
import type { Part } from "../../measure/Group.ts"
import { inTurns, runNode } from "../../measure/Processes.ts"
import { type Table, times } from "../../measure/Table.ts"
import { folderWithPublished } from "../../measure/TypeScript.ts"
import { modulesOutside } from "./imports/modules.ts"

export const imports: Part = async ({ quick }) => {
  const folder = await folderWithPublished("machine", "imports")
  const modules = modulesOutside(join(folder, "node_modules", "@detent", "machine", "src", "index.js"))
  const importing = (name: string, specifiers: ReadonlyArray<string>) => {
    const file = join(folder, `${name}.mjs`)
    write(file, specifiers.map((specifier) => `import ${JSON.stringify(specifier)}\n`).join(""))
    return () => runNode([join(import.meta.dirname, "imports", "importing.ts"), file])
  }
  const contestants = {
    "@detent/machine": importing("detent", ["@detent/machine"]),
    "the Effect modules it needs": importing("effect-modules", modules),
    "all of effect": importing("effect", ["effect"]),
    xstate: importing("xstate", ["xstate"]),
  }
  const results = await inTurns(contestants, quick ? 5 : 25)
  const cpu = (name: keyof typeof contestants) => results[name]?.["cpuMilliseconds"] ?? Number.NaN
  const table: Table = {
    title: "Importing the published package, in a fresh process each time",
    columns: ["", "CPU ms", "wall ms", "of detent's"],
    rows: Object.entries(results).map(([name, { cpuMilliseconds = Number.NaN, wallMilliseconds = Number.NaN }]) => [
      name,
      cpuMilliseconds.toFixed(1),
      wallMilliseconds.toFixed(1),
      times(cpuMilliseconds / cpu("@detent/machine")),
    ]),
    notes: [`@detent/machine needs ${modules.join(", ")}.`],
  }
  return {
    tables: [table],
    figures: {
      "import.vsEffect": cpu("@detent/machine") / cpu("the Effect modules it needs"),
      "import.cpuMilliseconds": cpu("@detent/machine"),
    },
  }
}
