/** The CPU time of type-checking twenty machines of ten states. */
import { join } from "node:path"
import { generatedFolder, write } from "../../measure/Generated.ts"
import type { Part } from "../../measure/Group.ts"
import { cpuSecondsOf, inTurns } from "../../measure/Processes.ts"
import { type Table, times } from "../../measure/Table.ts"
import { compiler, folderWithPublished } from "../../measure/TypeScript.ts"
import { detentSource, xstateSource } from "./types/sources.ts"

const machines = Array.from({ length: 20 }, (_, index) => `machine${index}`)

export const types: Part = async ({ quick }) => {
  const tsc = await compiler()
  const detent = await folderWithPublished("machine", "types-detent")
  const xstate = generatedFolder("types-xstate")
  const check = (folder: string, project: string) => async () => ({ seconds: await cpuSecondsOf(tsc, ["-p", join(folder, project)]) })
  writeProjects(detent, detentSource, `import "@detent/machine"\nimport "effect/Effect"\nimport "effect/Schema"\n`)
  writeProjects(xstate, xstateSource, `import "xstate"\n`)

  const contestants = {
    detent: check(detent, "machines.json"),
    xstate: check(xstate, "machines.json"),
  }
  const importers = {
    "detent, imports alone": check(detent, "imports.json"),
    "xstate, imports alone": check(xstate, "imports.json"),
  }
  const results = { ...(await inTurns(contestants, quick ? 5 : 15)), ...(await inTurns(importers, quick ? 2 : 9)) }
  const seconds = (name: keyof typeof contestants | keyof typeof importers) => results[name]?.["seconds"] ?? Number.NaN
  const perMachine = (name: "detent" | "xstate") => (seconds(name) - seconds(`${name}, imports alone`)) / machines.length
  const table: Table = {
    title: "Type-checking 20 machines of 10 states against the published declarations (tsc 7, strict, skipLibCheck)",
    columns: ["", "CPU seconds", "of xstate's"],
    rows: [
      ...Object.keys(results).map((name) => {
        const own = seconds(name as keyof typeof contestants)
        const theirs = name.endsWith("alone") ? seconds("xstate, imports alone") : seconds("xstate")
        return [name, own.toFixed(2), times(own / theirs)]
      }),
      ["detent, one machine more", perMachine("detent").toFixed(3), times(perMachine("detent") / perMachine("xstate"))],
      ["xstate, one machine more", perMachine("xstate").toFixed(3), times(1)],
    ],
    notes: ["The imports alone are the cost of loading effect's and xstate's declarations, once per program."],
  }
  return {
    tables: [table],
    figures: {
      "types.cpuVsXstate": seconds("detent") / seconds("xstate"),
      "types.cpuSeconds": seconds("detent"),
      "types.machineVsXstate": perMachine("detent") / perMachine("xstate"),
      "types.importsVsXstate": seconds("detent, imports alone") / seconds("xstate, imports alone"),
    },
  }
}

/** The same settings for both, and the strictest that both are meant for. */
const compilerOptions = {
  target: "es2024",
  lib: ["es2024", "esnext.disposable", "dom"],
  module: "nodenext",
  moduleDetection: "force",
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: true,
  noEmit: true,
  types: [],
}

const writeProjects = (folder: string, source: (name: string) => string, imports: string) => {
  for (const name of machines) write(join(folder, `${name}.ts`), source(name))
  write(join(folder, "imports.ts"), imports)
  write(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }))
  write(join(folder, "machines.json"), JSON.stringify({ compilerOptions, files: machines.map((name) => `${name}.ts`) }))
  write(join(folder, "imports.json"), JSON.stringify({ compilerOptions, files: ["imports.ts"] }))
}
