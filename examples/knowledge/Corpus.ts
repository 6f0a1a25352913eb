/** The shipped corpus, its namespace, and the layer that processes it. */
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { StorageFolder } from "@detent/blobs"
import { Knowledge, Namespace } from "@detent/knowledge"

export const corpus = join(import.meta.dirname, "../../packages/knowledge/corpus")

export const corpusFolder = StorageFolder.make(`${pathToFileURL(corpus).href}/`)

export const namespace = Namespace.make("coast")

/** Files and database below one folder. A killed process resumes its batch when it is started again. */
export const live = (folder: string) => Knowledge.layerEmbedded({ folder, readable: [corpus], nodeId: "demo" })
