/**
 * What can be measured: the groups, and the parts of each. A group's code is in groups/NAME/index.ts.
 *
 * @type {Readonly<Record<string, { readonly about: string, readonly parts: Readonly<Record<string, string>> }>>}
 */
export const groups = {
  machine: {
    about: "packages/machine beside a hand-written switch, xstate 5, robot3 and @xstate/store",
    parts: {
      decide: "pure decisions: a toggle and an order, from creation to the last event",
      send: "the same order as a live actor",
      actors: "10,000 idle actors: heap and time to create them",
      types: "CPU time of type-checking 20 machines of 10 states",
      imports: "CPU time of importing the package",
    },
  },
  durable: {
    about: "packages/durable beside DBOS, pg-boss, graphile-worker, Effect's workflow engine and raw SQL",
    parts: {
      transitions: "50 instances at once, each send awaited, on PostgreSQL and SQLite; what one costs",
      single: "one instance, each send awaited",
      timers: "1,000 and 20,000 timers due at one instant: how late they fire",
      recovery: "1,000 instances, the process killed halfway: what is lost, and when it is done",
      replay: "an instance of 100,000 events, opened without and with a snapshot",
      memory: "10,000 live instances with timers: heap, and transitions across them",
    },
  },
}
