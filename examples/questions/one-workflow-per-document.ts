/**
 * How do I run one workflow for each document of a folder? The id of the execution is that of the document, so starting it again returns the
 * stored result: a batch that was killed is run again from the beginning, and only the missing steps are done.
 *
 * Run it: `npx node examples/questions/one-workflow-per-document.ts`
 */
import { openEngine, workflow } from "@detent/durable/promise"
import { RetryPolicy } from "@detent/machine"
import * as Schema from "effect/Schema"

const texts: Readonly<Record<string, string>> = {
  "harbour.txt": "The harbour opened in 1904. It has two piers.",
  "lighthouse.txt": "The lighthouse is 31 m high. It was built in 1868. It is painted white.",
  "broken.txt": "",
}

let counted = 0
const Summary = workflow({ name: "summary", input: { file: Schema.String } }, async ({ file }, durable) => {
  const text = await durable.step("read", async () => texts[file] ?? "")
  const sentences = await durable.step(
    "split",
    async () => {
      if (text === "") throw new Error(`${file} is empty`)
      return text.split(/(?<=\.)\s/)
    },
    { retry: RetryPolicy.none }, // the document stays empty, however often it is read
  )
  return await durable.step("count", async () => {
    counted++
    return sentences.length
  })
})

await using engine = await openEngine({ database: "sqlite:summaries.db", nodeId: "summaries", workflows: [Summary] })

/** At most two at a time. A failed document does not stop the others. */
const summarise = async (files: ReadonlyArray<string>) => {
  const waiting = [...files]
  const results = new Map<string, string>()
  const work = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const name = file
      results.set(
        name,
        await engine.workflows.run(Summary, name, { file: name }).then(
          (count) => `${count} sentences`,
          (error: Error) => `failed: ${error.message}`,
        ),
      )
    }
  }
  await Promise.all([work(), work()])
  return files.map((file) => `${file}: ${results.get(file)}`).join("\n")
}

console.log(await summarise(Object.keys(texts)))
console.log(`${counted} documents were counted`)
await summarise(Object.keys(texts)) // no step runs a second time
console.log(`${counted} after a second run`)
