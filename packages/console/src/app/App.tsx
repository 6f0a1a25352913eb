/** The frame of every page: navigation, search, live badge, theme, keys, and the page that the address names. */
import { Component, type ReactNode, useState } from "react"
import { useSession } from "../api/SessionContext.ts"
import { Link, navigate, usePlace } from "../browser/Router.tsx"
import { useGlobalKey, useKeys } from "../browser/useKeys.ts"
import { LiveProvider } from "../live/LiveContext.tsx"
import { Button } from "../parts/Button.tsx"
import { Icon } from "../parts/Icon.tsx"
import { Modal } from "../parts/Modal.tsx"
import { Empty, ProblemNote } from "../parts/Panel.tsx"
import { CommandPalette } from "./CommandPalette.tsx"
import { LiveBadge } from "./LiveBadge.tsx"
import { pageOf, pages, ShownPage } from "./pages.tsx"
import { SessionGate } from "./SessionGate.tsx"
import { useTheme } from "./theme.ts"

export const App = () => (
  <SessionGate>
    <LiveProvider>
      <Shell />
    </LiveProvider>
  </SessionGate>
)

const Shell = () => {
  const { names } = usePlace()
  const [open, setOpen] = useState<"palette" | "help" | "menu">()
  const close = () => setOpen(undefined)
  useKeys({
    ...Object.fromEntries(pages.map(({ key, path }) => [`g ${key}`, () => navigate(path)])),
    "?": () => setOpen("help"),
    "/": () => document.querySelector<HTMLElement>("[data-filter]")?.focus(),
  })
  usePaletteKey(() => setOpen("palette"))
  const file = pageOf(names)
  return (
    <div className="min-h-dvh lg:grid lg:grid-cols-[13.5rem_minmax(0,1fr)]">
      <a
        href="#main"
        className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50 focus:rounded focus:bg-surface focus:px-3 focus:py-2"
      >
        Skip to the content
      </a>
      <aside className="sticky top-0 hidden h-dvh flex-col overflow-y-auto border-r border-line bg-surface px-3 py-4 lg:flex">
        <Brand />
        <Navigation />
      </aside>
      <div className="flex min-w-0 flex-col">
        <div className="sticky top-0 z-30 flex h-13 items-center gap-2 border-b border-line bg-surface/95 px-3 backdrop-blur sm:px-5">
          <Button look="quiet" icon="menu" className="lg:hidden" aria-label="Open the navigation" onClick={() => setOpen("menu")} />
          <button
            type="button"
            className="flex h-8 min-w-0 flex-1 items-center gap-2 rounded-lg border border-line bg-sunken px-2.5 text-left text-muted hover:border-edge sm:max-w-sm"
            onClick={() => setOpen("palette")}
          >
            <Icon name="search" />
            <span className="min-w-0 flex-1 truncate">Find anything</span>
            <kbd className="hidden rounded border border-line bg-surface px-1.5 font-sans text-xs sm:inline">Ctrl K</kbd>
          </button>
          <span className="flex-1 max-sm:hidden" />
          <LiveBadge />
          <ThemeButton />
          <Button look="quiet" icon="help" className="max-sm:hidden" aria-label="Keys and help" onClick={() => setOpen("help")} />
        </div>
        <main id="main" tabIndex={-1} className="w-full max-w-[100rem] flex-1 px-3 py-5 outline-none sm:px-5">
          <PageBoundary key={JSON.stringify(names)}>
            {file === undefined ? <NoPage /> : <ShownPage file={file} names={names.slice(1)} />}
          </PageBoundary>
        </main>
      </div>
      {open === "palette" ? <CommandPalette onClose={close} /> : null}
      {open === "help" ? <Help onClose={close} /> : null}
      {open === "menu" ? (
        <Modal title="Pages" onClose={close}>
          <Navigation onOpen={close} />
        </Modal>
      ) : null}
    </div>
  )
}

const Brand = () => (
  <Link href="/" className="mb-5 flex items-center gap-2.5 px-2 text-lg font-semibold tracking-tight">
    <img src="/icon.svg" alt="" width="24" height="24" />
    Detent
  </Link>
)

const Navigation = ({ onOpen }: { readonly onOpen?: () => void }) => {
  const { names } = usePlace()
  const { session } = useSession()
  const shown = pages.filter(({ system }) => system === undefined || session?.systems.includes(system) !== false)
  const groups = [...new Set(shown.map(({ group }) => group))]
  return (
    <>
      <nav aria-label="Pages" className="grid gap-4">
        {groups.map((group) => (
          <div key={group} className="grid gap-0.5">
            {group === "Now" ? null : <p className="px-2 pb-1 text-xs font-semibold tracking-wide text-muted uppercase">{group}</p>}
            {shown
              .filter((page) => page.group === group)
              .map(({ name, path, icon, key }) => {
                const isHere = path === "/" ? names.length === 0 : `/${names[0]}` === path
                return (
                  <Link
                    key={path}
                    href={path}
                    aria-current={isHere ? "page" : undefined}
                    className={`group flex items-center gap-2.5 rounded-md px-2 py-1.5 ${isHere ? "bg-accent-soft font-medium text-accent-strong" : "text-muted hover:bg-hover hover:text-ink"}`}
                    onClick={() => onOpen?.()}
                  >
                    <Icon name={icon} />
                    <span className="flex-1">{name}</span>
                    <span aria-hidden="true" className="hidden text-xs text-muted group-hover:inline">
                      g {key}
                    </span>
                  </Link>
                )
              })}
          </div>
        ))}
      </nav>
      <SessionNote />
    </>
  )
}

const SessionNote = () => {
  const { session, mayNot } = useSession()
  if (session === undefined) return null
  return (
    <div className="mt-auto grid gap-0.5 px-2 pt-6 text-xs text-muted">
      <p>
        {session.database === "Sqlite" ? "SQLite" : "PostgreSQL"} · {session.version}
      </p>
      <p title={mayNot}>{session.observes ? "observes" : `role ${session.role}`}</p>
      <a href="/docs" className="hover:text-accent hover:underline">
        API reference
      </a>
    </div>
  )
}

const ThemeButton = () => {
  const { theme, toggle } = useTheme()
  return (
    <Button
      look="quiet"
      icon={theme === "dark" ? "sun" : "moon"}
      aria-label={theme === "dark" ? "Use the light theme" : "Use the dark theme"}
      onClick={toggle}
    />
  )
}

/** Ctrl-K works everywhere, also while the user types. */
const usePaletteKey = (open: () => void) =>
  useGlobalKey((event) => (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k", open)

const NoPage = () => (
  <div className="card">
    <Empty>
      There is no page at this address.{" "}
      <Link href="/" className="text-accent underline">
        Open the overview
      </Link>
    </Empty>
  </div>
)

const keyTable: ReadonlyArray<readonly [string, string]> = [
  ["Ctrl K", "find anything by id, name or label"],
  ["/", "filter the list"],
  ["j  k", "next, previous row"],
  ["Enter", "open the row"],
  ["x", "select the row"],
  ["← →", "step through the history of an instance"],
  ["e", "send an event"],
  ["?", "this help"],
  ...pages.map(({ key, name }) => [`g ${key}`, name] as const),
]

const Help = ({ onClose }: { readonly onClose: () => void }) => (
  <Modal title="Keys" onClose={onClose}>
    <dl className="grid grid-cols-[5.5rem_1fr] gap-x-4 gap-y-1.5">
      {keyTable.map(([key, text]) => (
        <div key={key} className="contents">
          <dt>
            <kbd className="rounded border border-line bg-sunken px-1.5 py-0.5 font-sans text-xs">{key}</kbd>
          </dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  </Modal>
)

/** Shows the error of a page that fails, inside the frame. Another address starts with a new boundary. */
class PageBoundary extends Component<{ readonly children: ReactNode }, { readonly problem: Error | undefined }> {
  override state: { readonly problem: Error | undefined } = { problem: undefined }

  static getDerivedStateFromError(problem: unknown) {
    return { problem: problem instanceof Error ? problem : new Error(String(problem)) }
  }

  override render() {
    const { problem } = this.state
    return problem === undefined ? (
      this.props.children
    ) : (
      <ProblemNote problem={problem} onRetry={() => this.setState({ problem: undefined })} />
    )
  }
}
