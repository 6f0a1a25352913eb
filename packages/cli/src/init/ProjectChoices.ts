/** What the user chooses of a project from the template `order`: how its code is written, its schema library and its database. */
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

export const styles = ["async", "effect"] as const
export const schemaLibraries = ["effect", "zod", "valibot", "arktype"] as const
export const databases = ["sqlite", "postgres"] as const

export interface ProjectChoices {
  readonly style: (typeof styles)[number]
  readonly schemas: (typeof schemaLibraries)[number]
  readonly database: (typeof databases)[number]
}

/** How the template's schemas are written with another library. Templates use no others than these. */
interface SchemaLibrary {
  readonly version: string
  readonly import: string
  readonly text: string
  readonly number: string
  readonly struct: string
}

export const libraries: Readonly<Record<Exclude<ProjectChoices["schemas"], "effect">, SchemaLibrary>> = {
  zod: { version: "4.6.7", import: 'import { z } from "zod"', text: "z.string()", number: "z.number()", struct: "z.object(" },
  valibot: {
    version: "1.5.0",
    import: 'import * as v from "valibot"',
    text: "v.string()",
    number: "v.pipe(v.number(), v.finite())",
    struct: "v.object(",
  },
  arktype: {
    version: "2.2.9",
    import: 'import { type } from "arktype"',
    text: 'type("string")',
    number: 'type("number")',
    struct: "type(",
  },
}

/** Changes the copied template to what was chosen. Returns the further dependencies. */
export const applyChoices = (folder: string, templates: string, choices: ProjectChoices): Readonly<Record<string, string>> => {
  if (choices.style === "effect") cpSync(join(templates, "order-effect"), folder, { recursive: true })
  if (choices.database === "postgres") cpSync(join(templates, "order-postgres"), folder, { recursive: true })
  if (choices.schemas === "effect") return {}
  const library = libraries[choices.schemas]
  for (const name of readdirSync(join(folder, "src")).filter((name) => name.endsWith(".ts"))) {
    const file = join(folder, "src", name)
    writeFileSync(file, written(readFileSync(file, "utf8"), library))
  }
  return { [choices.schemas]: library.version }
}

const written = (code: string, { import: imported, text, number, struct }: SchemaLibrary): string =>
  code
    .replace('import * as Schema from "effect/Schema"', imported)
    .replaceAll("Schema.String", text)
    .replaceAll("Schema.Finite", number)
    .replaceAll("Schema.Struct(", struct)
