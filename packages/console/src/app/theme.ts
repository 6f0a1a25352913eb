/** The theme: the user's choice in this browser. Default: the preference of the operating system. */
import { useSyncExternalStore } from "react"

export type Theme = "light" | "dark"

const stored = "detent-theme"
const prefersDark = matchMedia("(prefers-color-scheme: dark)")
const listeners = new Set<() => void>()

const current = (): Theme => {
  const chosen = localStorage.getItem(stored)
  if (chosen === "light" || chosen === "dark") return chosen
  return prefersDark.matches ? "dark" : "light"
}

const apply = () => {
  document.documentElement.dataset["theme"] = current()
  for (const listener of listeners) listener()
}

/** Called once, before the first paint. */
export const startTheme = () => {
  apply()
  prefersDark.addEventListener("change", apply)
  addEventListener("storage", ({ key }) => {
    if (key === stored) apply()
  })
}

export const useTheme = () => {
  const theme = useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, current)
  const toggle = () => {
    localStorage.setItem(stored, theme === "dark" ? "light" : "dark")
    apply()
  }
  return { theme, toggle }
}
