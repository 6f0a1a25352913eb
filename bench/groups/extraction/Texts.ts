/** Documents of invented companies and people, as plain text, and the ontology and examples they are read with. */
import { once } from "node:events"
import { createWriteStream } from "node:fs"
import { join } from "node:path"
import { documentAt } from "../../../packages/knowledge/src/generate/GeneratedCorpus.ts"

const corpus = join(import.meta.dirname, "..", "..", "..", "packages", "knowledge", "corpus")

export const ontologyFile = join(corpus, "ontology.ttl")
export const examplesFile = join(corpus, "examples.jsonl")

/** Texts of at least so many characters. */
export const texts = function* (leastLength: number): Generator<string> {
  // A company takes about 550 characters.
  const companiesPerDocument = Math.ceil(leastLength / 400)
  for (let index = 0; ; index++) {
    const { format, text } = documentAt({ documents: 100_000, companiesPerDocument }, index)
    if (format === "txt" && text.length >= leastLength) yield text
  }
}

/** One text of so many bytes, in a file. */
export const writeText = async (file: string, bytes: number): Promise<void> => {
  const out = createWriteStream(file)
  let written = 0
  for (const text of texts(100_000)) {
    if (!out.write(text)) await once(out, "drain")
    written += Buffer.byteLength(text)
    if (written >= bytes) break
  }
  out.end()
  await once(out, "finish")
}
