/** The documents of the shipped corpus become a graph, by the server of the demo. */
import { readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { ManifestFileJson } from "@detent/knowledge"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { corpus, corpusFolder, namespace } from "../knowledge/Corpus.ts"
import { endProgress, say, showProgress, style, title } from "./Screen.ts"
import type { Client } from "./Shop.ts"

const run = Effect.runPromise

/** Returns the id of the batch; undefined if it failed. */
export const buildGraph = async (client: Client): Promise<string | undefined> => {
  const manifest = Schema.decodeSync(ManifestFileJson)(readFileSync(join(corpus, "manifest.json"), "utf8"))
  title(4, `${manifest.documents.length} documents become one validated graph`)
  const { batches } = await run(client.batches.list({ query: {} }))
  const before = batches.find(({ state }) => !["Failed", "Cancelled"].includes(state))
  if (before !== undefined && before.status === "running")
    say(style.dim("   An earlier demo was stopped before its end: this one resumes it."))
  const started = before ?? (await run(client.batches.start({ headers: {}, payload: { folder: corpusFolder, manifest } })))
  const batchId = started.batchId as Parameters<typeof client.batches.get>[0]["params"]["batchId"]
  const end = await ended(client, batchId)
  if (end.outcome === undefined) {
    say(style.red(`   The batch ended as ${end.state}: npx detent batch show ${batchId}`))
    return undefined
  }
  const { documentsProcessed, relationsExtracted, clustersResolved, entitiesExtracted, violations, totalDurationMs } = end.outcome
  say(
    `   ${documentsProcessed} documents gave ${style.bold(`${relationsExtracted} facts`)} about ${style.bold(`${clustersResolved} entities`)}` +
      ` (${entitiesExtracted} mentions); ${violations} ${violations === 1 ? "violation" : "violations"}, in ${(totalDurationMs / 1000).toFixed(1)} s\n`,
  )
  await showFacts(client)
  return batchId
}

const ended = async (client: Client, batchId: Parameters<typeof client.batches.get>[0]["params"]["batchId"]) => {
  for (;;) {
    const status = await run(client.batches.get({ params: { batchId } }))
    const { total, completed, failed } = status.documents
    showProgress(status.stage, status.percent, `${completed + failed}/${total} documents`)
    if (status.isTerminal) {
      endProgress()
      return status
    }
    await new Promise((resolve) => setTimeout(resolve, 150))
  }
}

const shownFacts = 4

/** One fact of each of a few properties, each with the words that state it. */
const showFacts = async (client: Client) => {
  const params = { namespace }
  const { relations } = await run(client.knowledge.relations({ params, query: { limit: 200 } }))
  const sure = relations.filter(({ subjectLabel, objectLabel }) => subjectLabel !== undefined && objectLabel !== undefined)
  const each = [...new Map(sure.toReversed().map((relation) => [relation.property, relation])).values()].toReversed().slice(0, shownFacts)
  for (const { subject, subjectLabel, property, object, objectLabel } of each) {
    const { facts } = await run(client.knowledge.facts({ params, query: { subject, property, object } }))
    say(`   ${subjectLabel} ${style.cyan(property.split(/[#/]/).at(-1) ?? property)} ${objectLabel}`)
    for (const { quote, source } of facts.slice(0, 1)) say(style.dim(`     "${shortened(quote)}" ${basename(source ?? "")}`))
  }
}

const shortened = (text: string) => {
  const line = text.replace(/\s+/g, " ")
  return line.length > 90 ? `${line.slice(0, 90)}…` : line
}
