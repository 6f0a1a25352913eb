/**
 * Where a workspace keeps its data: a folder of this machine, or a folder of a bucket, `gs://BUCKET/PREFIX` or `s3://BUCKET/PREFIX`,
 * which many machines share. Files of one machine (locks, names of nodes, the address of its server) are in a local folder in
 * both cases.
 */
import { createHash } from "node:crypto"
import { homedir } from "node:os"
import { join, resolve } from "node:path"
import { isBucketLocation } from "@detent/blobs/BucketLocation"

/** An absolute path, or an address without a slash at its end. */
export const dataOf = (data: string): string => (isBucketLocation(data) ? data.replace(/(?<!\/)\/+$/, "") : resolve(data))

/** The local folder of this machine. For a bucket, it is in the user's folder for program state: XDG_STATE_HOME. */
export const localFolderOf = (data: string): string => {
  if (!isBucketLocation(data)) return resolve(data)
  const states = process.env["XDG_STATE_HOME"]
  const name = createHash("sha256").update(dataOf(data)).digest("hex").slice(0, 16)
  return join(states === undefined || states === "" ? join(homedir(), ".local", "state") : states, "detent", name)
}

/** The path or address of `name` in the data folder or bucket. */
export const belowData = (data: string, name: string): string => (isBucketLocation(data) ? `${dataOf(data)}/${name}` : join(data, name))
