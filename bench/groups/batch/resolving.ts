/** Resolves mentions of generated documents, and prints the time and the F1. */
import { generateCorpus } from "../../../packages/knowledge/generators/GeneratedCorpus.ts"
import { pairwise } from "../../../packages/knowledge/generators/PairwiseScore.ts"
import { Resolver } from "../../../packages/knowledge/src/resolve/Resolver.ts"

const { mentions }: { readonly mentions: number } = JSON.parse(process.argv[2] ?? "{}")

const resolver = new Resolver()
const truth: Array<string> = []
let [seconds, cpuSeconds] = [0, 0]
const timed = <A>(work: () => A): A => {
  const [started, cpu] = [performance.now(), process.cpuUsage()]
  const done = work()
  const { user, system } = process.cpuUsage(cpu)
  seconds += (performance.now() - started) / 1000
  cpuSeconds += (user + system) / 1e6
  return done
}
for (const document of generateCorpus({ documents: Math.ceil(mentions / 10), seed: 5 })) {
  for (const { entity } of document.mentions) truth.push(entity)
  // The time to generate the documents does not count.
  timed(() => resolver.addDocument(document.mentions))
  if (truth.length >= mentions) break
}
const { clusterOf } = timed(() => resolver.resolve())
const { f1 } = pairwise(truth, clusterOf)
console.log(JSON.stringify({ seconds, cpuSeconds, mentions: truth.length, f1, peakRssMb: process.resourceUsage().maxRSS / 1024 }))
