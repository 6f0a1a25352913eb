/** Values that say only that a value is missing. */
import { wordSet } from "./Words.ts"

/** Values that stand for a missing one, without spaces and brackets. */
const placeholders = wordSet(`n/a na n.a. n.a #n/a none null nil nan undefined unknown unspecified unavailable notavailable notapplicable
  notknown notspecified nodata tbd t.b.d. tba t.b.a. tbc t.b.c. tobedetermined tobeannounced tobeconfirmed k.a. k.a keineangabe keineangaben
  unbekannt nichtbekannt nichtverfügbar n.v. entfällt keine keiner keines inconnu inconnue aucun aucune nonconnu nondisponible nonrenseigné
  n.c. n/c n.d. n/d sansobjet desconocido desconocida ninguno ninguna nodisponible sindatos s/d`)

/** Whether a cell or field says only that its value is missing: "N/A", "unknown", "–". */
export const isPlaceholder = (text: string): boolean => {
  if (text.length > 40) return false
  const bare = text.toLowerCase().replace(/[\s()[\]<>*]/g, "")
  return placeholders.has(bare) || /^\p{P}*$/u.test(bare)
}
