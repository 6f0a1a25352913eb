/** Resolves mentions of generated documents, and prints how long it took and how right it is. */
import { generateCorpus } from "../../../packages/knowledge/src/generate/GeneratedCorpus.ts"
import { pairwise } from "../../../packages/knowledge/src/generate/PairwiseScore.ts"
import { Resolver } from "../../../packages/knowledge/src/resolve/Resolver.ts"

const { mentions }: { readonly mentions: number } = JSON.parse(process.argv[2] ?? "{}")

const resolver = new Resolver()
const truth: Array<string> = []
let [seconds, started] = [0, 0]
for (const document of generateCorpus({ documents: Math.ceil(mentions / 10), seed: 5 })) {
  for (const { entity } of document.mentions) truth.push(entity)
  // Making the documents does not count.
  started = performance.now()
  resolver.addDocument(document.mentions)
  seconds += (performance.now() - started) / 1000
  if (truth.length >= mentions) break
}
started = performance.now()
const { clusterOf } = resolver.resolve()
seconds += (performance.now() - started) / 1000
console.log(
  JSON.stringify({ seconds, mentions: truth.length, f1: pairwise(truth, clusterOf).f1, peakRssMb: process.resourceUsage().maxRSS / 1024 }),
)
