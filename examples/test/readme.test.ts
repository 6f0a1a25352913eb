/** A README snippet under a comment that names a file must equal that file. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"

const root = join(import.meta.dirname, "..", "..")
const read = (file: string) => readFileSync(join(root, file), "utf8")

it.each([
  "README.md",
  "packages/machine/README.md",
  "packages/durable/README.md",
  "packages/cluster/README.md",
  "packages/entity/README.md",
  "packages/xstate/README.md",
  "packages/blobs/README.md",
  "packages/knowledge/README.md",
  "packages/uploads/README.md",
  "packages/workspace/README.md",
  "packages/server/README.md",
])("the snippets of %s are the files they name", (readme) => {
  const snippets = [...read(readme).matchAll(/<!-- (\S+\.ts) -->\n```ts\n([\s\S]*?)\n```/g)]
  expect(snippets.length).toBeGreaterThan(0)
  for (const [, file, snippet] of snippets) expect(snippet).toBe(read(file as string).trim())
})
