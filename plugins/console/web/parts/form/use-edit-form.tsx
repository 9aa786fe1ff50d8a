import { useState } from 'react'
import type { Versioned } from '../../api/call.ts'
import { useVersionedEdit } from '../../api/use-versioned-edit.ts'
import { notify } from '../../app/notices.ts'
import { isSame, toMergePatch, type Values } from '../schema-form/values.ts'
import { EditConflict } from './EditConflict.tsx'
import { bindFields, type Fields } from './fields.ts'

interface EditRecord<T, V, B> {
  readonly fields: Fields<V>
  readonly toValues: (record: T) => V
  readonly toBody: (values: V) => B
  readonly read: () => Promise<Versioned<T>>
  readonly save: (body: B, headers: { readonly 'if-match': string }) => Promise<unknown>
  /** `changes`: the body has only the changed fields, so changes of others to other fields stay. */
  readonly sends: 'changes' | 'all'
  readonly notice: (sent: Partial<B>) => string
  readonly onDone: () => void | Promise<void>
}

/** The form of an existing record. After an edit conflict, `conflict` shows both versions, and the next save replaces theirs. */
export function useEditForm<T, V extends Values, B extends Values>(
  current: Versioned<T>,
  { fields, toValues, toBody, read, save, sends, notice, onDone }: EditRecord<T, V, B>
) {
  const [opened] = useState(current) // later reads must not change the form
  const [values, setValues] = useState(() => toValues(opened.value))
  const { change, theirs } = useVersionedEdit<T, B>(opened, {
    read,
    save,
    onSaved(sent) {
      notify(notice(sent))
      return onDone()
    }
  })
  const body = toBody(values)
  const changes = toMergePatch(toBody(toValues(opened.value)), body)
  const submit = (): void => {
    if (sends === 'all') change.mutate(body)
    else if (isSame(changes, {})) void onDone()
    else change.mutate(changes as B) // a patch may lack any field
  }
  const { generalError, ...controls } = bindFields({ values, setValues, fields, error: change.error })
  const form = { isBusy: change.isPending, error: generalError, onSubmit: submit }
  const shown = Object.keys(fields).filter(name => sends === 'all' || name in changes)
  const conflict = theirs && <Conflict names={shown} fields={fields} now={toValues(theirs)} yours={values} />
  return { ...controls, form, conflict, values, send: change.mutate }
}

interface ConflictProps<V> {
  readonly names: readonly (keyof V & string)[]
  readonly fields: Fields<V>
  readonly now: V
  readonly yours: V
}

const Conflict = <V,>({ names, fields, now, yours }: ConflictProps<V>) => (
  <EditConflict
    fields={names.map(name => {
      const { label, format = String } = fields[name]
      return { name: label, now: format(now[name]), yours: format(yours[name]) }
    })}
  />
)
