import type { Group } from "../../measure/Group.ts"
import { delivery, peers } from "./delivery.ts"
import { faults, leaseMillis } from "./faults.ts"

const group: Group = {
  parts: { delivery, peers, faults },
  goals: [
    { key: "hot.vsOneProcess", atLeast: 0.7, about: "three nodes that all send to the same 50 instances, against one process" },
    { key: "split.vsOneProcess", atLeast: 1.5, about: "three nodes that send to their own instances, against one process" },
    { key: "remote.nodeCpuUs", atMost: 60, about: "node CPU of an event for another node's instance, both nodes, µs" },
    { key: "remote.pgCpuUs", atMost: 35, about: "PostgreSQL CPU of the same, µs" },
    { key: "hot.failed", atMost: 0, about: "sends that failed while nodes sent to the same instances" },
    {
      key: "takeover.millis",
      atMost: leaseMillis + 1500,
      about: "kill -9 until every instance of the node handled an event elsewhere, ms",
    },
    { key: "restart.callerErrors", atMost: 0, about: "errors that senders got while the nodes were restarted in turn" },
    { key: "lost", atMost: 0, about: "events that were answered and are not in the journal" },
    { key: "doubled", atMost: 0, about: "events that are in the journal twice" },
    { key: "fenced", atLeast: 1, about: "commits of a frozen node that the fence refused" },
  ],
}

export default group
