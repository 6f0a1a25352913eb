/** Short names that are clear where they stand: in the document that also says the full one. */
import type { NameForm } from "./NameForm.ts"
import { fits, isShortForm } from "./NameRules.ts"
import type { NamedMention } from "./Resolution.ts"

/** A surname, initials or an acronym, where the same document has exactly one full name of the type that fits. */
export const fullNameInDocument = (
  mentions: ReadonlyArray<NamedMention>,
  forms: ReadonlyArray<NameForm>,
  index: number,
): string | undefined => {
  const form = forms[index]
  const mention = mentions[index]
  if (form === undefined || mention === undefined || !isShortForm(form) || (mention.identifiers ?? []).length > 0) return undefined
  const fitting = new Map<string, string>()
  for (const [other, full] of forms.entries()) {
    const candidate = mentions[other]
    if (candidate?.type === mention.type && full.script === form.script && !isShortForm(full) && fits(form, full))
      fitting.set(full.key, candidate.name)
  }
  return fitting.size === 1 ? [...fitting.values()][0] : undefined
}
