/**
 * The address is the state of every view: a path of names, each of which may contain any character, and a query. Each name is
 * encoded by itself, so that a name with a slash survives a reload.
 */
import { type AnchorHTMLAttributes, type MouseEvent, useMemo, useSyncExternalStore } from "react"

export interface Place {
  /** The decoded parts of the path. */
  readonly names: ReadonlyArray<string>
  readonly query: URLSearchParams
}

/** The number of the current entry of the history, which survives a reload. */
const entryNow = (): number => (history.state as { readonly entry?: number } | null)?.entry ?? 0

/** Where lists were scrolled to, by the entry of the history and the name of the list. */
const places = new Map<string, number>()
const mostPlaces = 200

const placeKey = (list: string): string => `${entryNow()} ${list}`

/** Where the list of this name was scrolled to when this entry of the history was left; 0 for a new entry. */
export const scrollPlace = (list: string): number => places.get(placeKey(list)) ?? 0

export const keepScrollPlace = (list: string, top: number) => {
  const key = placeKey(list)
  places.delete(key)
  places.set(key, top)
  for (const oldest of [...places.keys()].slice(0, -mostPlaces)) places.delete(oldest)
}

const listeners = new Set<() => void>()
const notify = () => {
  for (const listener of listeners) listener()
}
const subscribe = (listener: () => void) => {
  if (listeners.size === 0) addEventListener("popstate", notify)
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) removeEventListener("popstate", notify)
  }
}

/** An address of the console. Values that are undefined or empty are left out. */
export const hrefOf = (names: ReadonlyArray<string>, query: Readonly<Record<string, string | number | undefined>> = {}): string => {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined && value !== "") search.set(name, String(value))
  const asked = search.toString()
  return `/${names.map(encodeURIComponent).join("/")}${asked === "" ? "" : `?${asked}`}`
}

export const navigate = (href: string, options: { readonly replace?: boolean } = {}) => {
  if (href === location.pathname + location.search) return
  if (options.replace === true) history.replaceState(history.state, "", href)
  else history.pushState({ entry: Math.max(Date.now(), entryNow() + 1) }, "", href)
  notify()
}

const decoded = (name: string): string => {
  try {
    return decodeURIComponent(name)
  } catch {
    // A hand-written address with a stray %.
    return name
  }
}

export const placeOf = (pathname: string, search: string): Place => ({
  names: pathname
    .split("/")
    .filter((name) => name !== "")
    .map(decoded),
  query: new URLSearchParams(search),
})

export const usePlace = (): Place => {
  const href = useSyncExternalStore(subscribe, () => location.pathname + location.search)
  return useMemo(() => {
    const [pathname = "/", search = ""] = href.split(/\?(.*)/s)
    return placeOf(pathname, search)
  }, [href])
}

/** Sets some values of the query; undefined removes one. Replaces the current history entry; with `push`, adds one to go back to. */
export const setQuery = (
  values: Readonly<Record<string, string | number | ReadonlyArray<string> | undefined>>,
  options: { readonly push?: boolean } = {},
) => {
  const next = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(values)) {
    next.delete(name)
    if (value === undefined || value === "") continue
    for (const one of Array.isArray(value) ? value : [value]) next.append(name, String(one))
  }
  const asked = next.toString()
  navigate(location.pathname + (asked === "" ? "" : `?${asked}`), { replace: options.push !== true })
}

export const useQueryState = () => {
  const { query } = usePlace()
  return {
    get: (name: string): string | undefined => query.get(name) ?? undefined,
    getAll: (name: string): ReadonlyArray<string> => query.getAll(name),
  }
}

export const Link = ({ href, onClick, ...rest }: AnchorHTMLAttributes<HTMLAnchorElement> & { readonly href: string }) => (
  <a
    href={href}
    onClick={(event) => {
      onClick?.(event)
      if (!opensHere(event)) return
      event.preventDefault()
      navigate(href)
      if (!href.startsWith(location.pathname)) scrollTo(0, 0)
    }}
    {...rest}
  />
)

/** Whether it is a plain click. The browser handles any other click: it opens a tab or a window. */
const opensHere = (event: MouseEvent): boolean =>
  !event.defaultPrevented && event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey
