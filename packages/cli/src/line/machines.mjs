/** Machines, their instances, and the commands those request. */
import { paging } from "./shared.mjs"

const machine = /** @type {const} */ ({ name: "machine", summary: "the machine's name, as `detent machine list` shows it" })
const instance = /** @type {const} */ ({ name: "instance", summary: "MACHINE/ID, or the id alone where only one machine has it" })

const queue = /** @type {const} */ ({ name: "queue", summary: "the queue's name, as `detent queue list` shows it" })

export const machineCommands = /** @satisfies {ReadonlyArray<import("./Command.ts").Command>} */ (
  /** @type {const} */ ([
    {
      name: "machine list",
      summary: "the machines known here, with how many instances are in each state",
      detail: "Known are the built-in ones and those of detent.config.ts in the working folder.",
      arguments: [],
      options: [],
      examples: [{ line: "detent machine list", says: "name, version, states, instances" }],
    },
    {
      name: "machine show",
      summary: "one machine: states, events, transitions, instances",
      arguments: [machine],
      options: [],
      examples: [{ line: "detent machine show order", says: "what leads where" }],
    },
    {
      name: "machine diagram",
      summary: "draw a machine",
      arguments: [machine],
      options: [
        {
          name: "format",
          kind: "text",
          value: "FORMAT",
          choices: ["mermaid", "flowchart", "dot", "svg", "sequence", "timeline"],
          default: "mermaid",
          summary: "sequence (Mermaid) and timeline (DOT) draw one instance",
        },
        { name: "output", kind: "text", value: "FILE", summary: "write it there instead of to stdout", complete: "file" },
        { name: "instance", kind: "text", value: "ID", summary: "draw the way that this instance took" },
      ],
      examples: [
        { line: "detent machine diagram order --format svg --output order.svg", says: "a picture without a browser" },
        { line: "detent machine diagram order --instance order-7", says: "with the transitions it took and the states it has been in" },
        { line: "detent machine diagram order --instance order-7 --format sequence", says: "event by event, with requested commands" },
      ],
    },
    {
      name: "machine check",
      summary: "find stored instances that have not ended and that the definition of now could not open",
      detail:
        "Run it before a deploy: nothing is changed. Instances that have ended are not opened any more; they are counted and skipped.\n" +
        "Ends with 1 when there is one that would not open, or one of a machine that is not in detent.config.ts.",
      arguments: [{ ...machine, optional: true }],
      options: [
        { name: "allow-unregistered", kind: "flag", summary: "accept stored instances of machines that are not in detent.config.ts" },
      ],
      examples: [{ line: "detent machine check order", says: "replays every stored order that has not ended" }],
    },
    {
      name: "instance list",
      summary: "instances, oldest change first",
      arguments: [],
      options: [
        { name: "machine", kind: "text", value: "NAME", summary: "only of this machine" },
        { name: "state", kind: "text", value: "STATE", summary: "only in this state" },
        {
          name: "status",
          kind: "text",
          value: "STATUS",
          choices: ["running", "final", "stopped", "held", "failed"],
          summary: "only with this status; final includes failed, a final state of failure",
        },
        ...paging,
      ],
      examples: [
        { line: "detent instance list --machine order --state Paid", says: "orders that are paid" },
        { line: "detent instance list --status held", says: "those that wait for a repair" },
      ],
    },
    {
      name: "instance start",
      summary: "start an instance of a machine of yours",
      arguments: [machine, { name: "id", summary: "its id" }],
      options: [{ name: "with", kind: "text", value: "JSON", summary: "what it begins with" }],
      examples: [
        { line: `detent instance start order order-7 --with '{"item":"lamp","total":42}'`, says: "it is stored when this returns" },
      ],
    },
    {
      name: "instance show",
      summary: "where an instance stands, and which events it accepts now",
      arguments: [instance],
      options: [{ name: "at", kind: "integer", value: "N", summary: "as it was after event number N" }],
      examples: [{ line: "detent instance show order/order-7 --at 2", says: "the state after its second event" }],
    },
    {
      name: "instance history",
      summary: "the events of an instance, with the states around them",
      arguments: [instance],
      options: [
        { name: "limit", kind: "integer", value: "N", default: 100, minimum: 1, summary: "at most this many; 1000 are the most" },
        { name: "after", kind: "integer", value: "N", default: 0, minimum: 0, summary: "only events after number N" },
      ],
      examples: [
        { line: "detent instance history order-7 --limit 3 --json", says: "the first three, a line each" },
        { line: "detent instance history order-7 --after 100", says: "the next page" },
      ],
    },
    {
      name: "instance send",
      summary: "send an event that the instance's state accepts",
      arguments: [instance, { name: "event", summary: "the event's name" }],
      options: [
        { name: "with", kind: "text", value: "JSON", summary: "the event's fields" },
        {
          name: "key",
          kind: "text",
          value: "ID",
          summary: "your own id for it: sent again under the same one, it is answered, not repeated",
        },
      ],
      examples: [
        { line: `detent instance send order-7 Pay --with '{"transactionId":"t-9"}' --key webhook-77`, says: "safe to repeat" },
        {
          line: `detent instance send order-7 Ship --with '{"trackingNumber":"NL-4711"}'`,
          says: "the fields that `detent machine show` names",
        },
      ],
    },
    {
      name: "instance ask",
      summary: "ask a question, and print the answer as JSON; final states answer too",
      arguments: [instance, { name: "question", summary: "the event that is answered" }],
      options: [{ name: "with", kind: "text", value: "JSON", summary: "the event's fields" }],
      examples: [
        { line: "detent instance ask order-7 GetTotal", says: "changes nothing, and is not journaled, where the machine only answers" },
      ],
    },
    {
      name: "instance repair",
      summary: "replace a stored event that no longer fits, and let a held instance go on",
      arguments: [
        instance,
        { name: "sequence", summary: "the number of the event, as the error and the history tell it" },
        { name: "event", summary: "the event's name" },
      ],
      options: [{ name: "with", kind: "text", value: "JSON", summary: "the event's fields" }],
      examples: [
        { line: `detent instance repair order-7 1 Pay --with '{"transactionId":"t-9"}' --yes`, says: "the rest is replayed on it" },
      ],
    },
    {
      name: "instance fork",
      summary: "a new instance with the history of another up to an event",
      detail: "Nothing that the first instance requested is executed again.",
      arguments: [instance, { name: "id", summary: "the id of the new instance" }],
      options: [{ name: "through", kind: "integer", value: "N", summary: "the last event to take over; default: all" }],
      examples: [
        { line: "detent instance fork order-7 order-7-again --through 2", says: "begins where order-7 was after its second event" },
      ],
    },
    {
      name: "instance purge",
      summary: "remove instances that ended long ago, with their histories",
      detail: "An instance with an unfinished or failed command stays. A machine with `.persist({ retention })` is purged by itself.",
      arguments: [machine],
      options: [
        { name: "ended-before", kind: "text", value: "DURATION", summary: "how long ago they ended at least, such as 30days or 12hours" },
        { name: "dry-run", kind: "flag", summary: "only count them" },
      ],
      examples: [
        { line: "detent instance purge order --ended-before 30days --dry-run", says: "how many it would be" },
        { line: "detent instance purge order --ended-before 30days --yes", says: "removes them for good" },
      ],
    },
    {
      name: "command list",
      summary: "requested effects: waiting, running, done, failed",
      arguments: [],
      options: [
        {
          name: "status",
          kind: "text",
          value: "STATUS",
          choices: ["pending", "processing", "completed", "failed", "handled", "skipped"],
          summary: "only with this status",
        },
        { name: "queue", kind: "text", value: "NAME", summary: "only of this queue" },
        { name: "slot", kind: "text", value: "NAME", summary: "only of this effect" },
        { name: "instance", kind: "text", value: "MACHINE/ID", summary: "only those of this instance" },
        ...paging,
      ],
      examples: [{ line: "detent command list --status failed", says: "the dead letters" }],
    },
    {
      name: "command retry",
      summary: "execute failed commands again",
      arguments: [{ name: "key", summary: "the command's key; or choose several with the options", optional: true }],
      options: [
        { name: "queue", kind: "text", value: "NAME", summary: "all failed ones of this queue" },
        { name: "slot", kind: "text", value: "NAME", summary: "all failed ones of this effect" },
        { name: "instance", kind: "text", value: "MACHINE/ID", summary: "all failed ones of this instance" },
        { name: "all", kind: "flag", summary: "all failed ones" },
        { name: "force", kind: "flag", summary: "also those whose instance has ended or would refuse the result" },
        { name: "dry-run", kind: "flag", summary: "only count them" },
      ],
      examples: [
        { line: "detent command retry order/order-7/2/0", says: "one, by its key" },
        { line: "detent command retry --slot sendMail --dry-run", says: "how many it would be" },
      ],
    },
    {
      name: "command skip",
      summary: "give a command up, for a reason that is kept with it",
      arguments: [{ name: "key", summary: "the command's key" }],
      options: [{ name: "reason", kind: "text", value: "TEXT", summary: "why; it is asked for on a terminal" }],
      examples: [{ line: 'detent command skip order/order-7/2/0 --reason "refunded by hand" --yes', says: "it is not executed any more" }],
    },
    {
      name: "queue list",
      summary: "queues of commands, with how many commands they have of each status",
      arguments: [],
      options: [],
      examples: [{ line: "detent queue list", says: "which are paused, and what waits" }],
    },
    {
      name: "queue pause",
      summary: "let no worker take commands of a queue",
      arguments: [queue],
      options: [],
      examples: [{ line: "detent queue pause mails", says: "commands under way are finished" }],
    },
    {
      name: "queue resume",
      summary: "let workers take commands of a paused queue again",
      arguments: [queue],
      options: [],
      examples: [{ line: "detent queue resume mails", says: "what waited is executed" }],
    },
    {
      name: "timer list",
      summary: "timers that were given up because they could not be fired",
      arguments: [],
      options: [{ name: "limit", kind: "integer", value: "N", default: 100, minimum: 1, summary: "at most this many" }],
      examples: [{ line: "detent timer list", says: "with the problem of each" }],
    },
    {
      name: "timer revive",
      summary: "fire a timer that was given up",
      arguments: [instance, { name: "timer", summary: "its name, as `detent timer list` shows it" }],
      options: [],
      examples: [{ line: `detent timer revive order-7 "payment overdue"`, says: "by the next process that works" }],
    },
  ])
)
