/** Makes a new instance with the history up to a step. */
import { useState } from "react"
import { submit, write } from "../../api/Client.ts"
import type { InstanceView } from "../../api/types.ts"
import { hrefOf } from "../../browser/Router.tsx"
import { ActButton, Button } from "../../parts/Button.tsx"
import { Modal } from "../../parts/Modal.tsx"
import { useToast } from "../../parts/Toasts.tsx"
import { useOneAtATime } from "../../parts/useOneAtATime.ts"

interface ForkProps {
  readonly machine: string
  readonly id: string
  readonly at: number
  readonly onClose: () => void
  readonly onDone: (id: string) => void
}

export const Fork = ({ machine, id, at, onClose, onDone }: ForkProps) => {
  const toast = useToast()
  const [name, setName] = useState(`${id}-fork-${at}`)
  const { once, isBusy } = useOneAtATime()
  const [problem, setProblem] = useState<string>()
  const fork = () =>
    submit<InstanceView>(write("POST", ["instances", machine, id, "fork"], { id: name, sequence: at })).then(
      (view) => {
        toast({
          text: `${view.id} starts from ${id} after step ${at}.`,
          href: hrefOf(["instances", machine, id]),
          linkText: `Back to ${id}`,
        })
        onClose()
        onDone(view.id)
      },
      (reason: unknown) => setProblem(reason instanceof Error ? reason.message : String(reason)),
    )
  return (
    <Modal title={`Fork ${id} at step ${at}`} onClose={onClose}>
      <form
        className="grid gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          once(fork)
        }}
      >
        <p className="text-muted">
          Creates a new instance with the history up to step {at}. Commands of that history are not executed again.
        </p>
        <div className="grid gap-1">
          <label htmlFor="fork-id" className="label">
            Id of the new instance
          </label>
          <input id="fork-id" className="field" required autoComplete="off" value={name} onChange={({ target }) => setName(target.value)} />
        </div>
        {problem === undefined ? null : (
          <p role="alert" className="text-bad">
            {problem}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <ActButton type="submit" look="primary" icon="fork" isBusy={isBusy}>
            Fork
          </ActButton>
        </div>
      </form>
    </Modal>
  )
}
