/**
 * A form from a JSON Schema: objects, enums, numbers, booleans, texts and lists of those. Anything else is edited as JSON. The
 * form does not validate: the server checks the request.
 */
import { useEffect, useId, useRef, useState } from "react"
import type { Json } from "../api/types.ts"
import { Button } from "./Button.tsx"

export interface JsonSchema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: ReadonlyArray<string>
  readonly items?: JsonSchema | ReadonlyArray<JsonSchema>
  readonly enum?: ReadonlyArray<Json>
  readonly const?: Json
  readonly anyOf?: ReadonlyArray<JsonSchema>
  readonly oneOf?: ReadonlyArray<JsonSchema>
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, JsonSchema>>
  readonly description?: string
  readonly title?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly default?: Json
}

type Definitions = Readonly<Record<string, JsonSchema>>
type Choice = { readonly kind: "choice"; readonly values: ReadonlyArray<Json> }
type Control =
  | { readonly kind: "object"; readonly fields: ReadonlyArray<readonly [string, JsonSchema, boolean]> }
  | Choice
  | { readonly kind: "number"; readonly whole: boolean }
  | { readonly kind: "boolean" }
  | { readonly kind: "text" }
  | { readonly kind: "list"; readonly item: JsonSchema }
  | { readonly kind: "json" }

const resolved = (schema: JsonSchema, definitions: Definitions): JsonSchema => {
  const name = schema.$ref?.split("/").at(-1)
  return name === undefined ? schema : (definitions[name] ?? {})
}

/** Which control edits a value of a schema. */
export const controlOf = (given: JsonSchema, definitions: Definitions): Control => {
  const schema = resolved(given, definitions)
  if (schema.enum !== undefined) return { kind: "choice", values: schema.enum }
  if (schema.const !== undefined) return { kind: "choice", values: [schema.const] }
  const options = (schema.anyOf ?? schema.oneOf)?.map((one) => resolved(one, definitions))
  const values = options?.flatMap((one) => one.enum ?? (one.const === undefined ? [] : [one.const]))
  if (options !== undefined && values?.length === options.length) return { kind: "choice", values }
  switch (schema.type) {
    case "object": {
      const fields = Object.entries(schema.properties ?? {}).filter(([name]) => name !== "_tag")
      return { kind: "object", fields: fields.map(([name, field]) => [name, field, schema.required?.includes(name) === true] as const) }
    }
    case "integer":
      return { kind: "number", whole: true }
    case "number":
      return { kind: "number", whole: false }
    case "boolean":
      return { kind: "boolean" }
    case "string":
      return { kind: "text" }
    case "array":
      return schema.items === undefined || Array.isArray(schema.items)
        ? { kind: "json" }
        : { kind: "list", item: schema.items as JsonSchema }
    default:
      return { kind: "json" }
  }
}

/** The first value of a form: required fields only. */
export const emptyValue = (schema: JsonSchema, definitions: Definitions = schema.$defs ?? {}): Json => {
  const control = controlOf(schema, definitions)
  switch (control.kind) {
    case "object":
      return Object.fromEntries(
        control.fields.flatMap(([name, field, required]) => (required ? [[name, emptyValue(field, definitions)]] : [])),
      )
    case "choice":
      return control.values[0] ?? null
    case "number":
      return schema.minimum ?? 0
    case "boolean":
      return false
    case "text":
      return ""
    case "list":
      return []
    case "json":
      return null
  }
}

interface FormProps {
  readonly schema: JsonSchema
  readonly value: Json
  readonly onChange: (value: Json) => void
  readonly definitions?: Definitions
}

/** The fields of an object, without a heading of its own. */
export const SchemaForm = ({ schema, value, onChange, definitions = schema.$defs ?? {} }: FormProps) => {
  const control = controlOf(schema, definitions)
  if (control.kind !== "object") return <Editor name="value" schema={schema} value={value} onChange={onChange} definitions={definitions} />
  const record = typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Readonly<Record<string, Json>>) : {}
  const set = (name: string, next: Json | undefined) => {
    const { [name]: _, ...others } = record
    onChange(next === undefined ? others : { ...record, [name]: next })
  }
  return (
    <div className="grid gap-3">
      {control.fields.map(([name, field, required]) =>
        !required && !(name in record) ? (
          <div key={name}>
            <Button look="quiet" onClick={() => set(name, emptyValue(field, definitions))}>
              + {name}
            </Button>
          </div>
        ) : (
          <div key={name} className="flex items-end gap-2">
            <div className="min-w-0 flex-1">
              <Editor
                name={name}
                schema={field}
                value={record[name] ?? null}
                onChange={(next) => set(name, next)}
                definitions={definitions}
              />
            </div>
            {required ? null : <Button look="quiet" icon="close" aria-label={`Leave out ${name}`} onClick={() => set(name, undefined)} />}
          </div>
        ),
      )}
    </div>
  )
}

const Editor = ({ name, schema, value, onChange, definitions = {} }: FormProps & { readonly name: string }) => {
  const id = useId()
  const control = controlOf(schema, definitions)
  const hint = resolved(schema, definitions).description
  if (control.kind === "boolean")
    return (
      <label className="flex min-h-8 items-center gap-2">
        <input type="checkbox" className="size-4" checked={value === true} onChange={({ target }) => onChange(target.checked)} />
        {name}
      </label>
    )
  if (control.kind === "object")
    return (
      <fieldset className="rounded-lg border border-line p-3">
        <legend className="label px-1">{name}</legend>
        <SchemaForm schema={schema} value={value} onChange={onChange} definitions={definitions} />
      </fieldset>
    )
  if (control.kind === "list") {
    const items = Array.isArray(value) ? (value as ReadonlyArray<Json>) : []
    return (
      <fieldset className="grid gap-2 rounded-lg border border-line p-3">
        <legend className="label px-1">{name}</legend>
        {items.map((item, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: an item of a list has no other name.
          <div key={index} className="flex items-end gap-2">
            <div className="min-w-0 flex-1">
              <Editor
                name={`${index + 1}`}
                schema={control.item}
                value={item}
                onChange={(next) => onChange(items.with(index, next))}
                definitions={definitions}
              />
            </div>
            <Button look="quiet" icon="close" aria-label={`Remove item ${index + 1}`} onClick={() => onChange(items.toSpliced(index, 1))} />
          </div>
        ))}
        <div>
          <Button onClick={() => onChange([...items, emptyValue(control.item, definitions)])}>Add an item</Button>
        </div>
      </fieldset>
    )
  }
  return (
    <div className="grid gap-1">
      <label htmlFor={id} className="label">
        {name}
      </label>
      {control.kind === "choice" ? (
        <select
          id={id}
          className="field"
          value={JSON.stringify(value)}
          onChange={({ target }) => onChange(JSON.parse(target.value) as Json)}
        >
          {control.values.map((one) => (
            <option key={JSON.stringify(one)} value={JSON.stringify(one)}>
              {typeof one === "string" ? one : JSON.stringify(one)}
            </option>
          ))}
        </select>
      ) : control.kind === "number" ? (
        <input
          id={id}
          type="number"
          className="field tabular-nums"
          step={control.whole ? 1 : "any"}
          value={typeof value === "number" ? value : ""}
          onChange={({ target }) => onChange(target.value === "" ? null : Number(target.value))}
        />
      ) : control.kind === "text" ? (
        <input
          id={id}
          type="text"
          className="field"
          autoComplete="off"
          value={typeof value === "string" ? value : ""}
          onChange={({ target }) => onChange(target.value)}
        />
      ) : (
        <JsonInput id={id} value={value} onChange={onChange} />
      )}
      {hint === undefined ? null : <p className="text-xs text-muted">{hint}</p>}
    </div>
  )
}

export const JsonInput = ({
  id,
  value,
  onChange,
}: {
  readonly id: string
  readonly value: Json
  readonly onChange: (value: Json) => void
}) => {
  const [text, setText] = useState(() => JSON.stringify(value, null, 2))
  const [problem, setProblem] = useState<string>()
  const area = useRef<HTMLTextAreaElement>(null)
  // The value is still the last valid one, so the form must not be submitted with this text.
  useEffect(() => area.current?.setCustomValidity(problem === undefined ? "" : "This is not JSON yet."), [problem])
  return (
    <>
      <textarea
        ref={area}
        id={id}
        rows={Math.min(14, Math.max(3, text.split("\n").length))}
        className="field font-mono text-xs"
        spellCheck={false}
        value={text}
        aria-invalid={problem !== undefined}
        onChange={({ target }) => {
          setText(target.value)
          try {
            onChange(JSON.parse(target.value) as Json)
            setProblem(undefined)
          } catch (error) {
            setProblem(error instanceof Error ? error.message : String(error))
          }
        }}
      />
      {problem === undefined ? null : <p className="text-xs text-bad">This is not JSON yet: {problem}</p>}
    </>
  )
}
