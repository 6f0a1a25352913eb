/** The shard of an instance: the first 16 bits of an MD5 of its name. PostgreSQL computes the same, see `inShards` in PostgresStore.ts. */
import { createHash } from "node:crypto"
import type { InstanceKey } from "../store/Commit.ts"

export const shardOf = ({ machine, id }: InstanceKey, count: number): number =>
  createHash("md5").update(`${machine}/${id}`).digest().readUInt16BE(0) % count
