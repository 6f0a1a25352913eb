/**
 * Ctrl-K: finds pages, machines, states, queues, graphs, instances and batches by id or by an indexed text, entities by label, and opens the
 * selected one.
 */
import { useQueries } from "@tanstack/react-query"
import { type KeyboardEvent, useDeferredValue, useEffect, useRef, useState } from "react"
import { fetchJson } from "../api/Client.ts"
import * as reads from "../api/reads.ts"
import { useSession } from "../api/SessionContext.ts"
import { instanceHref, workflowName } from "../browser/addresses.ts"
import { hrefOf, navigate } from "../browser/Router.tsx"
import { useRead } from "../live/useRead.ts"
import { Icon, type IconName } from "../parts/Icon.tsx"
import { pages } from "./pages.tsx"

interface Found {
  readonly href: string
  readonly name: string
  readonly kind: string
  readonly icon: IconName
}

/** At most this many of a kind are listed. */
const most = 6

/** At most this many indexed fields are searched. */
const mostFields = 12

/** Longer texts are indexed by no field. */
const longestText = 100

export const CommandPalette = ({ onClose }: { readonly onClose: () => void }) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState("")
  const [at, setAt] = useState(0)
  const { found, isSearching } = useFound(useDeferredValue(text.trim()))
  const chosen = Math.min(at, found.length - 1)
  useEffect(() => {
    const shown = dialog.current
    shown?.showModal()
    return () => shown?.close()
  }, [])
  const open = (one: Found | undefined) => {
    if (one === undefined) return
    onClose()
    navigate(one.href)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") open(found[chosen])
    else if (event.key === "ArrowDown") setAt(Math.min(chosen + 1, found.length - 1))
    else if (event.key === "ArrowUp") setAt(Math.max(chosen - 1, 0))
    else return
    event.preventDefault()
  }
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes the dialog; the click is one on the backdrop.
    <dialog
      ref={dialog}
      aria-label="Find anything"
      className="card mt-[12dvh] w-[calc(100vw-1.5rem)] max-w-xl p-0 shadow-float"
      onClose={onClose}
      onClick={(event) => {
        if (event.target === dialog.current) onClose()
      }}
    >
      <div className="flex items-center gap-2.5 border-b border-line px-4">
        <Icon name="search" className="text-muted" />
        <input
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-found"
          aria-activedescendant={chosen < 0 ? undefined : `palette-${chosen}`}
          aria-label="An id, a name or a label"
          placeholder="An id, a name or a label"
          className="h-12 min-w-0 flex-1 bg-transparent text-lg outline-none"
          autoComplete="off"
          spellCheck={false}
          value={text}
          onChange={({ target }) => {
            setText(target.value)
            setAt(0)
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <div id="palette-found" role="listbox" aria-label="Results" className="max-h-[50dvh] overflow-y-auto p-1.5">
        {found.length === 0 ? (
          <p className="px-3 py-6 text-center text-muted">{isSearching ? "Searching…" : "No match for this id, name or label."}</p>
        ) : null}
        {found.map((one, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input has the focus and handles the keys.
          <div
            key={`${one.kind} ${one.href}`}
            id={`palette-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            className={`flex cursor-pointer items-center gap-3 rounded-md px-3 py-2 ${index === chosen ? "bg-accent-soft" : ""}`}
            onPointerMove={() => setAt(index)}
            onClick={() => open(one)}
          >
            <Icon name={one.icon} className="text-muted" />
            <span className="min-w-0 flex-1 truncate">{one.name}</span>
            <span className="text-xs text-muted">{one.kind}</span>
          </div>
        ))}
      </div>
    </dialog>
  )
}

/** The results so far. `isSearching`: not all searches have answered yet. */
const useFound = (text: string): { readonly found: ReadonlyArray<Found>; readonly isSearching: boolean } => {
  const { session } = useSession()
  const hasKnowledge = session?.systems.includes("knowledge") !== false
  const machines = useRead(reads.machines)
  const queues = useRead(reads.queues)
  const graphs = useRead(hasKnowledge ? reads.graphs : undefined)
  const instances = useRead(text === "" ? undefined : reads.instances({ search: text }, undefined, most))
  const entities = useQueries({
    queries: (graphs.data?.graphs ?? []).slice(0, most).map(({ namespace }) => {
      const asked = reads.entities(namespace, text)
      return { queryKey: [asked.path], queryFn: () => fetchJson(asked), enabled: text.length > 1 }
    }),
    combine: (answers) => ({
      isFetching: answers.some(({ isFetching }) => isFetching),
      found: answers.flatMap(({ data }, index) => {
        const namespace = graphs.data?.graphs[index]?.namespace ?? ""
        return (data?.entities ?? []).slice(0, most).map((one) => ({ ...one, namespace }))
      }),
    }),
  })
  const byField = useQueries({
    queries: (machines.data?.machines ?? [])
      .flatMap(({ name, indexes = [] }) =>
        indexes.flatMap((index) => (index.kind === "text" ? [{ machine: name, field: index.name }] : [])),
      )
      .slice(0, mostFields)
      .map(({ machine, field }) => {
        const asked = reads.instances({ machine, where: `${field}^=${JSON.stringify(text)}` }, undefined, most)
        return { queryKey: [asked.path], queryFn: () => fetchJson(asked), enabled: text.length > 1 && text.length <= longestText }
      }),
    combine: (answers) => ({
      isFetching: answers.some(({ isFetching }) => isFetching),
      // An instance may be found by several fields.
      found: [
        ...new Map(answers.flatMap(({ data }) => data?.instances ?? []).map((one) => [instanceHref(one.machine, one.id), one])).values(),
      ],
    }),
  })
  const all: ReadonlyArray<Found> = [
    ...pages
      .filter(({ system }) => system === undefined || session?.systems.includes(system) !== false)
      .map(({ name, path, icon }) => ({ href: path, name, kind: "page", icon })),
    ...(machines.data?.machines ?? []).flatMap(({ name, kind, states }) => [
      kind === "machine"
        ? { href: hrefOf(["machines", name]), name, kind: "machine", icon: "machine" as const }
        : {
            href: hrefOf(["workflows"], { workflow: workflowName(name) }),
            name: workflowName(name),
            kind: "workflow",
            icon: "workflow" as const,
          },
      ...(text === "" ? [] : states).map((state) => ({
        href: hrefOf(["instances"], { machine: name, state }),
        name: `${name} in ${state}`,
        kind: "state",
        icon: "instance" as const,
      })),
    ]),
    ...(queues.data?.queues ?? []).map(({ queue }) => ({
      href: hrefOf(["queues", queue]),
      name: queue,
      kind: "queue",
      icon: "queue" as const,
    })),
    ...(graphs.data?.graphs ?? []).map(({ namespace }) => ({
      href: hrefOf(["knowledge", namespace]),
      name: namespace,
      kind: "graph",
      icon: "knowledge" as const,
    })),
  ]
  const wanted = text.toLowerCase()
  const named = all.filter(({ name }) => name.toLowerCase().includes(wanted)).slice(0, text === "" ? pages.length : 3 * most)
  const found = [
    ...(instances.data?.instances ?? []).flatMap(({ machine, id }) => [
      ...(machine === "batch" ? [{ href: hrefOf(["batches", id]), name: id, kind: "batch", icon: "batch" as const }] : []),
      ...(machine === "UploadBatch" ? [{ href: hrefOf(["uploads", id]), name: id, kind: "upload", icon: "upload" as const }] : []),
      { href: instanceHref(machine, id), name: `${machine} / ${id}`, kind: "instance", icon: "instance" as const },
    ]),
    ...(text.length > 1 ? byField.found : []).map(({ machine, id, fields = {} }) => ({
      href: instanceHref(machine, id),
      name: `${Object.values(fields).find((value) => String(value).startsWith(text)) ?? ""} · ${machine} / ${id}`,
      kind: "instance by field",
      icon: "instance" as const,
    })),
    ...named,
    ...(text.length > 1 ? entities.found : []).map(({ iri, label, namespace }) => ({
      href: hrefOf(["knowledge", namespace], { entity: iri }),
      name: label,
      kind: `entity of ${namespace}`,
      icon: "knowledge" as const,
    })),
  ]
  return {
    found,
    isSearching: entities.isFetching || byField.isFetching || [machines, queues, graphs, instances].some(({ isFetching }) => isFetching),
  }
}
