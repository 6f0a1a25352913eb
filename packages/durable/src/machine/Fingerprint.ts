/**
 * A text that is the same for two definitions that differ only in their functions. A machine that is built twice is one machine;
 * two machines that share a name by accident are not.
 */
import type { Compiled } from "@detent/machine/internal"

export const fingerprint = ({ declarations }: Compiled): string => {
  const { state, event, transitions, fallbacks, timeouts, always, hooks, works, backgrounds, finals, guardSlots, effectSlots } =
    declarations
  const variants = (union: typeof state) => [...union.$variants.values()].map(({ tag, fieldNames }) => [tag, ...fieldNames])
  const tags = (targets: ReadonlyArray<{ readonly tag: string }>) => targets.map(({ tag }) => tag)
  const arrows = (declared: typeof transitions) =>
    [...declared].map(([pair, { kind, targets, guardName }]) => [pair, kind, guardName ?? "", tags(targets)])
  return JSON.stringify([
    variants(state),
    variants(event),
    arrows(transitions),
    arrows(fallbacks),
    [...timeouts.values()].map(({ from, name, idle, targets }) => [from, name, idle, tags(targets)]),
    always.map(({ from, targets }) => [from, tags(targets)]),
    hooks.map(({ phase, state: of }) => [phase, of]),
    works.map(({ state: of }) => of),
    backgrounds.length,
    [...finals],
    Object.keys(guardSlots),
    Object.keys(effectSlots),
  ])
}
