/** Keyboard shortcuts. They are off while the user types in a field, and while a dialog is open. */
import { useEffect, useRef } from "react"

export type KeyTable = Readonly<Record<string, (event: KeyboardEvent) => void>>

/** Keys by their name in small letters (`j`, `arrowleft`, `/`), or two in a row (`g m`). */
export const useKeys = (table: KeyTable) => {
  const current = useRef(table)
  current.current = table
  useEffect(() => {
    let prefix = ""
    let prefixAt = 0
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector("dialog[open]") !== null)
        return
      const key = event.key.toLowerCase()
      const pair = prefix !== "" && event.timeStamp - prefixAt < sequenceMillis ? `${prefix} ${key}` : key
      prefix = ""
      const act = current.current[pair]
      if (act !== undefined) {
        event.preventDefault()
        act(event)
      } else if (Object.keys(current.current).some((name) => name.startsWith(`${key} `))) {
        prefix = key
        prefixAt = event.timeStamp
      }
    }
    addEventListener("keydown", onKey)
    return () => removeEventListener("keydown", onKey)
  }, [])
}

/** The longest time between the two keys of a sequence. */
const sequenceMillis = 1200

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName))

/** A shortcut that works everywhere, also in fields and dialogs. */
export const useGlobalKey = (isIt: (event: KeyboardEvent) => boolean, act: () => void) => {
  const current = useRef({ isIt, act })
  current.current = { isIt, act }
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!current.current.isIt(event)) return
      event.preventDefault()
      current.current.act()
    }
    addEventListener("keydown", onKey)
    return () => removeEventListener("keydown", onKey)
  }, [])
}
