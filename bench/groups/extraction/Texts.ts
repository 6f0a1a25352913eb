/** Plain-text documents of invented companies and people, and the ontology and examples for their extraction. */
import { once } from "node:events"
import { createWriteStream } from "node:fs"
import { join } from "node:path"
import { documentAt } from "../../../packages/knowledge/generators/GeneratedCorpus.ts"

const corpus = join(import.meta.dirname, "..", "..", "..", "packages", "knowledge", "corpus")

export const ontologyFile = join(corpus, "ontology.ttl")
export const examplesFile = join(corpus, "examples.jsonl")

/** Texts of at least this many characters. */
export const texts = function* (leastLength: number): Generator<string> {
  // A company takes about 345 characters.
  const companiesPerDocument = Math.ceil(leastLength / 300)
  for (let index = 0; ; index++) {
    const { format, text } = documentAt({ documents: 100_000, companiesPerDocument }, index)
    if (format === "txt" && text.length >= leastLength) yield text
  }
}

const calm = " Nothing was seen that night but rain and the light of the cape."

/** Writes a text of this many bytes to a file. One sentence in ten names an entity, as in most long texts. */
export const writeText = async (file: string, bytes: number): Promise<void> => {
  const out = createWriteStream(file)
  let written = 0
  for (const text of texts(100_000)) {
    const sparse = text.replaceAll(/\.(?=\s)/g, `.${calm.repeat(9)}`)
    if (!out.write(sparse)) await once(out, "drain")
    written += Buffer.byteLength(sparse)
    if (written >= bytes) break
  }
  out.end()
  await once(out, "finish")
}
