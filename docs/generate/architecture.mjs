/** The page of the architecture: ARCHITECTURE.md of the repository, whose file names `npm run check` keeps current. */
import { escaped, generatedNote } from "./markdown.mjs"
import { textOf } from "./sources.mjs"

export function architecturePage() {
  const [title = "", ...rest] = textOf("ARCHITECTURE.md").split("\n")
  const lines = rest.map((line) => (line.startsWith("    ") || line.startsWith("|") ? line : escaped(line)))
  return [title, "", generatedNote("`ARCHITECTURE.md` of the repository"), ...lines].join("\n")
}
