/** A few documents of the shipped corpus, as a batch that is done in a moment. */
import { pathToFileURL } from "node:url"
import { StorageFolder } from "@detent/blobs"
import { corpus } from "./served.ts"

export const corpusFolder = StorageFolder.make(`${pathToFileURL(corpus).href}/`)

export const smallManifest = {
  targetNamespace: "coast",
  ontology: "ontology.ttl",
  examples: "examples.jsonl",
  documents: [{ source: "documents/ada-sol.txt" }, { source: "documents/el-haddad.txt" }],
} as const
