import { type ReactNode, useState } from 'react'
import type { Versioned } from '../api/call.ts'
import { useEdit } from '../api/use-edit.ts'
import { Overtaken } from './EditConflict.tsx'
import { isSame, patchOf, type Values } from './schema-form/values.ts'

interface FieldsEdit<T, V> {
  readonly fieldsOf: (record: T) => V
  readonly mine: V // what the form has
  readonly read: () => Promise<Versioned<T>>
  readonly save: (patch: Values, headers: { readonly 'if-match': string }) => Promise<unknown>
  readonly onDone: () => void
  readonly onSaved: () => void
  /** How each field is told in words, where somebody else has changed it. */
  readonly inWords: { readonly [K in keyof V]: readonly [name: string, tell: (value: V[K]) => ReactNode] }
}

/** Edits fields of a record. Only what the user has changed is sent: what others changed beside it stays. */
export function useFieldsEdit<T, V extends Values>(
  current: Versioned<T>,
  { fieldsOf, mine, read, save, onDone, onSaved, inWords }: FieldsEdit<T, V>
) {
  const [opened] = useState(current) // what is read later is not what the user has before him
  const { change, theirs } = useEdit<T, Values>(opened, {
    read,
    save,
    onSaved() {
      onSaved()
      onDone()
    }
  })
  const patch = patchOf(fieldsOf(opened.value), mine)
  const submit = (): void => (isSame(patch, {}) ? onDone() : change.mutate(patch))
  const now = theirs && fieldsOf(theirs)
  const changed = Object.keys(inWords).filter((key): key is Extract<keyof V, string> => key in patch)
  const overtaken = now && (
    <Overtaken
      fields={changed.map(key => {
        const [name, tell] = inWords[key]
        return { name, now: tell(now[key]), mine: tell(mine[key]) }
      })}
    />
  )
  return { submit, change, overtaken }
}
