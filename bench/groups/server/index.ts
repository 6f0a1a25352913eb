import type { Group } from "../../measure/Group.ts"
import { help } from "./help.ts"
import { read } from "./read.ts"
import { streams } from "./streams.ts"

const group: Group = {
  parts: { read, streams, help },
  goals: [
    { key: "read.vsNodeHttp", atLeast: 0.3, about: "requests/s of reading one instance, of a bare node:http handler with the same bytes" },
    { key: "streams.delivered", atLeast: 1, about: "of 1,000 event streams on one batch, the share that received every update" },
    { key: "streams.peakRssMb", atMost: 500, about: "peak memory of the server, MB" },
    { key: "help.vsNode", atMost: 3, about: "time of detent --help, of node -e 0" },
  ],
}

export default group
