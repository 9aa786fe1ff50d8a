import { type ReactNode, useState } from 'react'
import type { Versioned } from '../../api/call.ts'
import { useVersionedEdit } from '../../api/use-versioned-edit.ts'
import { isSame, toMergePatch, type Values } from '../schema-form/values.ts'
import { EditConflict } from './EditConflict.tsx'

interface FieldsEdit<T, V> {
  readonly fieldsOf: (record: T) => V
  readonly values: V // current values of the form
  readonly read: () => Promise<Versioned<T>>
  readonly save: (patch: Values, headers: { readonly 'if-match': string }) => Promise<unknown>
  readonly onDone: () => void
  readonly onSaved: () => void
  /** Name and format of each field, for an edit conflict. */
  readonly describe: { readonly [K in keyof V]: readonly [name: string, format: (value: V[K]) => ReactNode] }
}

/** Edits fields of a record. Sends only the changed fields, so changes of others to other fields stay. */
export function useFieldsEdit<T, V extends Values>(
  current: Versioned<T>,
  { fieldsOf, values, read, save, onDone, onSaved, describe }: FieldsEdit<T, V>
) {
  const [opened] = useState(current) // later reads must not change the form
  const { change, theirs } = useVersionedEdit<T, Values>(opened, {
    read,
    save,
    onSaved() {
      onSaved()
      onDone()
    }
  })
  const patch = toMergePatch(fieldsOf(opened.value), values)
  const submit = (): void => (isSame(patch, {}) ? onDone() : change.mutate(patch))
  const now = theirs && fieldsOf(theirs)
  const changed = Object.keys(describe).filter((key): key is Extract<keyof V, string> => key in patch)
  const conflict = now && (
    <EditConflict
      fields={changed.map(key => {
        const [name, format] = describe[key]
        return { name, now: format(now[key]), yours: format(values[key]) }
      })}
    />
  )
  return { submit, change, conflict }
}
