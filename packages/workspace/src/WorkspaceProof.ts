/**
 * Proves that a process works in a data folder: the process answers a challenge with an HMAC whose key is the name in the folder. A
 * client that reads the same folder checks the answer before it sends a token.
 */
import { createHmac, timingSafeEqual } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { localFolderOf } from "./DataLocation.ts"

/** The answer to a challenge; undefined where no process has worked in the folder yet. */
export const proofOf = (data: string, challenge: string): string | undefined => {
  const name = nameIn(data)
  return name === undefined ? undefined : createHmac("sha256", name).update(challenge).digest("hex")
}

export const isProof = (data: string, challenge: string, proof: string): boolean => {
  const expected = Buffer.from(proofOf(data, challenge) ?? "")
  const given = Buffer.from(proof)
  return expected.length > 0 && expected.length === given.length && timingSafeEqual(expected, given)
}

const nameIn = (data: string): string | undefined => {
  try {
    return readFileSync(join(localFolderOf(data), "nodes", "name"), "utf8")
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR")) return undefined
    throw error
  }
}
