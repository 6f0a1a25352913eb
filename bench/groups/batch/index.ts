import type { Group } from "../../measure/Group.ts"
import { incremental } from "./incremental.ts"
import { ingest } from "./ingest.ts"
import { resolution } from "./resolution.ts"
import { small } from "./small.ts"

const group: Group = {
  parts: { small, incremental, resolution, ingest },
  goals: [
    { key: "durability.overhead", atMost: 0.1, about: "additional time with durability, of the time without it" },
    { key: "small.peakRssMb", atMost: 1024, about: "peak memory of a batch of 100,000 small documents, MB" },
    { key: "incremental.vsFirst", atMost: 0.1, about: "time of a second run over 1,000 unchanged documents, of the time of the first" },
    { key: "resolution.f1", atLeast: 0.95, about: "pairwise F1 of resolution" },
    { key: "resolution.growth", atMost: 12, about: "time with ten times as many mentions, of the time with one tenth" },
    { key: "ingest.vsN3", atLeast: 1 / 3, about: "triples merged, added and published, of those n3 reads in the same time" },
  ],
}

export default group
