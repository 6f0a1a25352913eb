import type { ButtonHTMLAttributes, ReactNode } from "react"
import { useSession } from "../api/SessionContext.ts"
import { Icon, type IconName } from "./Icon.tsx"

const looks = {
  plain: "border-edge bg-surface text-ink hover:bg-hover disabled:border-line disabled:bg-sunken",
  primary:
    "border-accent bg-accent text-on-accent hover:bg-accent-strong hover:border-accent-strong disabled:border-line disabled:bg-sunken",
  danger: "border-bad bg-surface text-bad hover:bg-bad-soft disabled:border-line disabled:bg-sunken",
  quiet:
    "border-transparent bg-transparent text-muted hover:bg-hover hover:text-ink disabled:border-transparent disabled:bg-transparent disabled:opacity-50",
} as const

export interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "children"> {
  readonly look?: keyof typeof looks
  readonly icon?: IconName
  readonly children?: ReactNode
  /** The change that it started has no answer yet: it shows so, and cannot be pressed. */
  readonly isBusy?: boolean
}

export const Button = ({ look = "plain", icon, children, className = "", isBusy = false, disabled, ...rest }: ButtonProps) => (
  <button
    type="button"
    className={`inline-flex min-h-8 items-center justify-center gap-1.5 rounded-[7px] border px-2.5 py-1 text-sm font-medium whitespace-nowrap transition-colors disabled:cursor-not-allowed disabled:text-muted ${looks[look]} ${className}`}
    aria-busy={isBusy || undefined}
    disabled={disabled === true || isBusy}
    {...rest}
  >
    {isBusy ? <span aria-hidden="true" className="spinner" /> : icon === undefined ? null : <Icon name={icon} />}
    {children}
  </button>
)

/** A button that changes something. Disabled, with the reason, for a read-only session. */
export const ActButton = ({ disabled, title, ...rest }: ButtonProps) => {
  const { mayNot } = useSession()
  return <Button disabled={disabled === true || mayNot !== undefined} title={mayNot ?? title} {...rest} />
}
