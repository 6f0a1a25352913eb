/** A thousand readers of one batch's live stream: whether each receives every update, and the memory of the server. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import type { Part } from "../../measure/Group.ts"
import { temporaryFolder } from "../../measure/TemporaryFolder.ts"
import { startProgram, startServing } from "./Programs.ts"

const readers = 1000
const corpus = join(import.meta.dirname, "../../../packages/knowledge/corpus")

export const streams: Part = async ({ quick }) => {
  const documents = quick ? 300 : 1500
  const folder = temporaryFolder()
  writeDocuments(folder.file("documents"), documents)
  const home = folder.file("home")
  const server = await startServing("serving.ts", [home, "observe"])
  const worker = await startProgram<{ readonly batchId: string }>("working.ts", [home, folder.file("documents"), String(documents)])
  const begin = performance.now()
  try {
    const { batchId } = worker.ready
    const opened = Array.from({ length: readers }, () => follow(server.port, `/api/v1/batch/${batchId}/events`))
    await Promise.all(opened.map(({ over }) => over))
    const seconds = (performance.now() - begin) / 1000
    const updates = 2 * documents + 4
    const complete = opened.filter(({ seen }) => isComplete(seen, documents)).length
    const { peakRssMb = Number.NaN } = await server.stop()
    const delivered = opened.reduce((sum, { seen }) => sum + seen.ids.length, 0)
    return {
      tables: [
        {
          title: `${readers} event streams on one batch of ${documents} documents`,
          columns: ["", ""],
          rows: [
            ["updates of the batch, at least", `${updates}`],
            ["streams that received every update once and in order", `${complete}`],
            ["updates delivered", `${delivered.toLocaleString("en")} in ${seconds.toFixed(1)} s`],
            ["peak memory of the server", `${peakRssMb.toFixed(0)} MB`],
          ],
          notes: ["Another process runs the batch, so that the memory is that of serving alone."],
        },
      ],
      figures: { "streams.delivered": complete / readers, "streams.perSecond": delivered / seconds, "streams.peakRssMb": peakRssMb },
    }
  } finally {
    await Promise.all([server.stop(), worker.stop()])
    folder.remove()
  }
}

const writeDocuments = (folder: string, count: number) => {
  mkdirSync(folder)
  for (const file of ["ontology.ttl", "examples.jsonl"]) writeFileSync(join(folder, file), readFileSync(join(corpus, file)))
  const text = readFileSync(join(corpus, "documents/ada-sol.txt"), "utf8")
  for (let index = 0; index < count; index++) writeFileSync(join(folder, `${index}.txt`), `${text}\n\nThis is copy ${index}.\n`)
}

interface Seen {
  readonly ids: Array<number>
  readonly tags: Map<string, number>
}

/** Reads from the first event until the batch has ended. */
const follow = (port: number, path: string): { readonly seen: Seen; readonly over: Promise<void> } => {
  const seen: Seen = { ids: [], tags: new Map() }
  const over = new Promise<void>((resolve, reject) => {
    const socket = connect(port, "127.0.0.1")
    socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nlast-event-id: 0\r\n\r\n`)
    let text = ""
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1")
      const end = text.lastIndexOf("\n\n")
      if (end === -1) return
      for (const [, id, tag = ""] of text.slice(0, end).matchAll(/id: (\d+)\nevent: (\w+)/g)) {
        // The status sent to a client that connects after the end of the batch is not an update: it has the id of the last one.
        if (tag === "status") continue
        seen.ids.push(Number(id))
        seen.tags.set(tag, (seen.tags.get(tag) ?? 0) + 1)
      }
      text = text.slice(end)
      if (!seen.tags.has("BatchCompleted") && !seen.tags.has("BatchFailed")) return
      socket.destroy()
      resolve()
    })
    socket.on("error", reject)
    socket.on("close", () => reject(new Error(`a stream was closed after ${seen.ids.length} updates`)))
  })
  return { seen, over }
}

const isComplete = ({ ids, tags }: Seen, documents: number): boolean =>
  ids.every((id, index) => index === 0 || id > (ids[index - 1] ?? 0)) &&
  tags.get("DocumentStarted") === documents &&
  tags.get("DocumentCompleted") === documents &&
  ["BatchCreated", "ResolutionStarted", "ResolutionCompleted", "BatchCompleted"].every((tag) => tags.get(tag) === 1)
