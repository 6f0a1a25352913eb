/** The IRI of a resolved entity: readable, and the same wherever the same entity is resolved from the same name. */
import { createHash } from "node:crypto"
import type { Cluster } from "./Resolution.ts"

const longestSlug = 60

/** Keeps the IRI that an earlier batch gave. `base` ends with a slash or a hash. */
export const canonicalIri = (base: string, cluster: Cluster): string => {
  if (cluster.known !== undefined) return cluster.known
  const digest = createHash("sha256").update(`${cluster.type}\n${cluster.identity}`).digest("hex").slice(0, 16)
  return `${base}${slugOf(localName(cluster.type))}/${slugOf(cluster.names[0] ?? "")}-${digest}`
}

const localName = (iri: string): string => iri.slice(Math.max(iri.lastIndexOf("/"), iri.lastIndexOf("#")) + 1)

/** Letters and numbers of any script are allowed in an IRI; whatever else there is becomes a hyphen. */
const slugOf = (text: string): string => {
  const slug = text
    .normalize("NFC")
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, "-")
    .replace(/^-+|-+$/g, "")
  const cut = [...slug].slice(0, longestSlug).join("")
  return cut === "" ? "entity" : cut
}
