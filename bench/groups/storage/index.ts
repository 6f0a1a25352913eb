/** Object stores beside a local folder, through the same service. The stores are fakes on loopback, in child processes. */
import { type ChildProcess, spawn } from "node:child_process"
import { join } from "node:path"
import type { Findings, Group, Part } from "../../measure/Group.ts"
import { inTurns, runNode } from "../../measure/Processes.ts"
import { times } from "../../measure/Table.ts"
import { temporaryFolder } from "../../measure/TemporaryFolder.ts"

type Scheme = "gs" | "s3"

const program = (name: string) => join(import.meta.dirname, name)

interface Fake {
  readonly url: string
  readonly process: ChildProcess
}

const startFake = (scheme: Scheme): Promise<Fake> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program("fake.ts"), scheme], { stdio: ["pipe", "pipe", "inherit"] })
    child.stdout.setEncoding("utf8").once("data", (url: string) => resolve({ url: url.trim(), process: child }))
    child.once("exit", (code) => reject(new Error(`the fake of ${scheme} ended with ${code}`)))
  })

const stopFake = ({ process: child }: Fake) => {
  child.removeAllListeners("exit")
  child.stdin?.end()
}

/** A small heap where memory is measured, so that uncollected garbage does not count as required memory. */
const smallHeap = ["--max-old-space-size=64", "--max-semi-space-size=1"]

interface Took {
  readonly seconds: number
  readonly peakRssMb: number
}

/** The same work in a folder and in both stores, in turns; each time in a new location. */
const contest = async (task: "artifacts" | "large", amount: number, turns: number) => {
  const flags = task === "large" ? smallHeap : []
  let place = 0
  const inFolder = async () => {
    const folder = temporaryFolder()
    const took = await runNode([...flags, program("work.ts"), folder.file("data"), "", task, String(amount)])
    folder.remove()
    return took
  }
  const inStore = (scheme: Scheme) => async () => {
    const fake = await startFake(scheme)
    try {
      return await runNode([...flags, program("work.ts"), `${scheme}://bench/${place++}`, fake.url, task, String(amount)])
    } finally {
      stopFake(fake)
    }
  }
  const { file, gcs, s3 } = await inTurns({ file: inFolder, gcs: inStore("gs"), s3: inStore("s3") }, turns)
  const took = (one: Readonly<Record<string, number>> | undefined): Took => ({
    seconds: one?.["seconds"] ?? Number.NaN,
    peakRssMb: one?.["peakRssMb"] ?? Number.NaN,
  })
  return { file: took(file), gcs: took(gcs), s3: took(s3) }
}

const columns = ["store", "seconds", "throughput", "of the folder", "peak memory, MB"]

const rows = (all: Awaited<ReturnType<typeof contest>>, amount: number, unit: string) =>
  (["file", "gcs", "s3"] as const).map((name) => {
    const { seconds, peakRssMb } = all[name]
    return [
      { file: "local folder", gcs: "Google Cloud Storage", s3: "S3" }[name],
      seconds.toFixed(2),
      `${((2 * amount) / seconds).toFixed(0)} ${unit}/s`,
      times(all.file.seconds / seconds),
      peakRssMb.toFixed(0),
    ]
  })

const artifacts: Part = async ({ quick }): Promise<Findings> => {
  const amount = 1000
  const all = await contest("artifacts", amount, quick ? 1 : 5)
  return {
    tables: [
      {
        title: "1,000 new artifacts of 8 kB, written and read back, 16 at once",
        columns,
        rows: rows(all, amount, "blobs"),
        notes: ["The time includes the start of the storage. The stores are fakes on this machine: no network is in between."],
      },
    ],
    figures: { "gcs.vsFile": all.file.seconds / all.gcs.seconds, "s3.vsFile": all.file.seconds / all.s3.seconds },
  }
}

const large: Part = async ({ quick }): Promise<Findings> => {
  const megabytes = quick ? 128 : 1024
  const all = await contest("large", megabytes, 1)
  return {
    tables: [
      {
        title: `One blob of ${megabytes} MB, written and read as a stream`,
        columns,
        rows: rows(all, megabytes, "MB"),
        notes: ["A fake keeps the blob in memory and computes its checksums, on the same processors."],
      },
    ],
    figures: {
      "gcs.largeVsFile": all.file.seconds / all.gcs.seconds,
      "s3.largeVsFile": all.file.seconds / all.s3.seconds,
      "gcs.largePeakRssMb": all.gcs.peakRssMb,
      "s3.largePeakRssMb": all.s3.peakRssMb,
      "large.megabytes": megabytes,
    },
  }
}

const group: Group = {
  parts: { artifacts, large },
  goals: [
    { key: "gcs.largePeakRssMb", atMost: 200, about: "peak memory of the process that writes and reads one large blob, MB" },
    { key: "s3.largePeakRssMb", atMost: 200, about: "the same on S3, MB" },
  ],
}

export default group
