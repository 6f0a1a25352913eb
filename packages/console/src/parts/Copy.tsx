/** Buttons that copy a text, and a menu that copies the view as a curl request, a CLI command or a link. */
import { useEffect, useId, useState } from "react"
import { useSession } from "../api/SessionContext.ts"
import type { Session } from "../api/types.ts"
import { Button } from "./Button.tsx"
import { Icon } from "./Icon.tsx"
import { useToast } from "./Toasts.tsx"

/** Puts a text on the clipboard. Browsers offer it on secure addresses only; elsewhere a selected field is copied. */
const copyText = async (text: string): Promise<void> => {
  if ("clipboard" in navigator) return navigator.clipboard.writeText(text)
  const field = document.createElement("textarea")
  field.value = text
  // Inside an open dialog: elements outside of it cannot be selected.
  const place = document.querySelector("dialog[open]") ?? document.body
  place.append(field)
  field.select()
  document.execCommand("copy")
  field.remove()
}

export const CopyButton = ({ text, label }: { readonly text: string; readonly label: string }) => {
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return undefined
    const timer = setTimeout(() => setCopied(false), 1500)
    return () => clearTimeout(timer)
  }, [copied])
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className="rounded p-1 text-muted hover:bg-hover hover:text-ink"
      onClick={() => void copyText(text).then(() => setCopied(true))}
    >
      <Icon name={copied ? "check" : "copy"} />
    </button>
  )
}

/** Text in single quotes, as a shell reads it. */
export const quoted = (text: string): string => (/^[\w./:@=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

/** A curl command. The shell reads the token from the environment: the page does not know it. */
export const curlOf = (session: Session | undefined, address: string, body?: unknown): string =>
  [
    "curl -s",
    quoted(address),
    ...(session?.needsToken === true ? ['-H "authorization: Bearer $DETENT_TOKEN"'] : []),
    ...(body === undefined ? [] : ["-H 'content-type: application/json'", `-d ${quoted(JSON.stringify(body))}`]),
  ].join(" ")

/** A CLI command for the workspace of this server. `init` and `dev` create a workspace of their own. */
export const commandOf = (session: Session | undefined, command: string): string =>
  session?.data === undefined || !command.startsWith("npx detent ") || /^npx detent (init|dev)\b/.test(command)
    ? command
    : `${command} --data ${quoted(session.data)}`

/** A menu: the view as curl, as a command of the CLI, as a link. */
export const CopyMenu = ({ path, command }: { readonly path: string; readonly command?: string }) => {
  const id = useId()
  const toast = useToast()
  const { session } = useSession()
  const copy = (what: string, text: string) =>
    void copyText(text).then(
      () => {
        document.getElementById(id)?.hidePopover()
        toast({ text: `Copied ${what}` })
      },
      (reason: unknown) => toast({ text: `The browser refused to copy: ${String(reason)}`, tone: "bad" }),
    )
  const items: ReadonlyArray<readonly [string, string]> = [
    ["as curl", curlOf(session, location.origin + path)],
    ...(command === undefined ? [] : [["as CLI command", commandOf(session, command)] as const]),
    ["as link", location.href],
  ]
  return (
    <span className="relative inline-block">
      <Button icon="copy" look="quiet" popoverTarget={id} aria-label="Copy this view">
        Copy
      </Button>
      <div id={id} popover="auto" className="card fixed inset-auto top-28 right-4 m-0 max-w-[90vw] p-1 text-ink shadow-float">
        {items.map(([what, text]) => (
          <button
            key={what}
            type="button"
            className="block w-full rounded px-3 py-1.5 text-left hover:bg-hover"
            onClick={() => copy(what, text)}
          >
            <span className="block text-sm font-medium">Copy {what}</span>
            <span className="block max-w-96 truncate font-mono text-xs text-muted">{text}</span>
          </button>
        ))}
      </div>
    </span>
  )
}
