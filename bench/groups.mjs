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
}
