/** Entity resolution: its F1, and the growth of its time. */
import { join } from "node:path"
import type { Part } from "../../measure/Group.ts"
import { runNode } from "../../measure/Processes.ts"

const resolve = (mentions: number) =>
  runNode(["--max-old-space-size=8192", join(import.meta.dirname, "resolving.ts"), JSON.stringify({ mentions })])

export const resolution: Part = async ({ quick }) => {
  const few = quick ? 20_000 : 100_000
  const [one, ten] = [await resolve(few), await resolve(few * 10)]
  const row = ({ seconds = Number.NaN, cpuSeconds = Number.NaN, mentions = Number.NaN, f1 = Number.NaN, peakRssMb = Number.NaN }) => [
    mentions.toFixed(0),
    seconds.toFixed(2),
    cpuSeconds.toFixed(2),
    (mentions / seconds).toFixed(0),
    f1.toFixed(4),
    peakRssMb.toFixed(0),
  ]
  return {
    tables: [
      {
        title: "Resolution of mentions",
        columns: ["mentions", "seconds", "CPU seconds", "per second", "pairwise F1", "peak RSS, MB"],
        rows: [row(one), row(ten)],
      },
    ],
    figures: {
      "resolution.f1": Math.min(one["f1"] ?? Number.NaN, ten["f1"] ?? Number.NaN),
      "resolution.growth": (ten["seconds"] ?? Number.NaN) / (one["seconds"] ?? Number.NaN),
      "resolution.growthCpu": (ten["cpuSeconds"] ?? Number.NaN) / (one["cpuSeconds"] ?? Number.NaN),
      "resolution.mentionsPerSecond": (ten["mentions"] ?? Number.NaN) / (ten["seconds"] ?? Number.NaN),
    },
  }
}
