import type { ChangeEvent } from 'react'
import type { WrongField } from '../../api/api-error.ts'
import { formErrors } from './form-errors.ts'

/** One field of a form. */
export interface Field<T, V = unknown> {
  readonly label: string
  readonly description?: string
  readonly codes?: readonly string[] // error codes that belong to the field
  /** Returns what is wrong with a value, or null. Called before the form is sent. */
  readonly check?: (value: T, values: V) => string | null
  readonly format?: (value: T) => string // for an edit conflict; without it, the value is shown
}

/** The fields of a form, by the names that the API gives them in errors. */
export type Fields<V> = { readonly [K in keyof V]: Field<V[K], V> }

/** Returns the fields that fail their check. */
export const wrongFields = <V>(values: V, fields: Fields<V>): readonly WrongField[] =>
  (Object.keys(fields as object) as (keyof V & string)[]).flatMap(field => {
    const message = fields[field].check?.(values[field], values) ?? null
    return message === null ? [] : [{ field, reason: 'check', message }]
  })

/** The props from `bindFields` for a control that reports its value. */
export interface ControlProps<T> {
  readonly name?: string
  readonly label: string
  readonly value: T
  readonly onChange: (value: T) => void
  readonly error: string | null
}

type KeysOf<V, T> = { [K in keyof V & string]: V[K] extends T ? K : never }[keyof V & string]
type Change = ChangeEvent<HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement>

interface Editing<V> {
  readonly values: V
  readonly setValues: (values: V) => void
  readonly fields: Fields<V>
  readonly error: Error | null // of the last attempt to save
}

/** Returns the props of the controls of a form: label, value and error of each field. */
export function bindFields<V>({ values, setValues, fields, error }: Editing<V>) {
  const { errorAt, generalError } = formErrors(error, fields)
  const set = (changed: Partial<V>): void => setValues({ ...values, ...changed })
  const common = (name: keyof V & string) => {
    const { label, description } = fields[name]
    return { name, label, description, error: errorAt(name) }
  }
  return {
    set,
    generalError,
    /** For a control that reports its value. */
    field: <K extends keyof V & string>(name: K) => ({
      ...common(name),
      value: values[name],
      onChange: (value: V[K]) => set({ [name]: value } as unknown as Partial<V>)
    }),
    /** For a control that reports an event. */
    input: <K extends KeysOf<V, string>>(name: K) => ({
      ...common(name),
      value: values[name] as V[K] & string,
      onChange: ({ currentTarget: { value } }: Change) => set({ [name]: value } as unknown as Partial<V>)
    }),
    checkbox: (name: KeysOf<V, boolean>) => ({
      ...common(name),
      checked: values[name] === true,
      onChange: ({ currentTarget: { checked } }: ChangeEvent<HTMLInputElement>) =>
        set({ [name]: checked } as unknown as Partial<V>)
    })
  }
}
