/** A fake object store on loopback: `node fake.ts gs|s3`. Prints its address, and exits when its standard input ends. */
import { startFakeGcs, startFakeS3 } from "@detent/blobs/testing/cloud"

const buckets = ["bench"]
const fake =
  process.argv[2] === "gs"
    ? await startFakeGcs({ buckets, anonymous: true })
    : await startFakeS3({ buckets, accessKeyId: "AKIDBENCH", secretAccessKey: "secret" })
console.log(fake.url)
process.stdin.on("end", () => process.exit()).resume()
