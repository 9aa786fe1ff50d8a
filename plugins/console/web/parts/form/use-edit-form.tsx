import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { type ApiError, toApiError } from '../../api/api-error.ts'
import type { Versioned } from '../../api/call.ts'
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
  /** Called after a save. Without it, the form stays, with the record as the server stored it. */
  readonly onDone?: () => void
}

/**
 * The form of an existing record. If somebody else changed the record since the form opened, the save fails and `conflict`
 * shows both versions. The next save replaces theirs.
 */
export function useEditForm<T, V extends Values, B extends Values>(
  current: Versioned<T>,
  { fields, toValues, toBody, read, save, sends, notice, onDone }: EditRecord<T, V, B>
) {
  const [opened, setOpened] = useState(current) // later reads must not change the form
  const [values, setValues] = useState(() => toValues(current.value))
  const [refusal, refuse] = useState<ApiError | null>(null)
  const [theirs, setTheirs] = useState<Versioned<T> | null>(null)
  const reopen = async (): Promise<void> => {
    const stored = await read()
    setOpened(stored)
    setValues(toValues(stored.value))
    setTheirs(null)
  }
  const saving = useMutation({
    meta: { shown: true },
    mutationFn: async (body: B) => {
      try {
        return await save(body, { 'if-match': (theirs ?? opened).etag })
      } catch (thrown) {
        if (toApiError(thrown).status === 412) setTheirs(await read())
        throw thrown
      }
    },
    onSuccess: (_reply, sent) => {
      notify(notice(sent))
      return onDone ? onDone() : reopen() // the form is busy until it has the record
    }
  })
  const body = toBody(values)
  const changes = toMergePatch(toBody(toValues(opened.value)), body)
  const submit = (): void => {
    if (sends === 'all') saving.mutate(body)
    else if (isSame(changes, {})) onDone?.()
    else saving.mutate(changes as B) // a patch may lack any field
  }
  const error = refusal ?? saving.error
  const { generalError, ...controls } = bindFields({ values, setValues, fields, error })
  const form = { isBusy: saving.isPending, error: generalError, onRefused: refuse, onSubmit: submit }
  const shown = Object.keys(fields).filter(name => sends === 'all' || name in changes)
  const conflict = theirs && (
    <Conflict names={shown} fields={fields} now={toValues(theirs.value)} yours={values} />
  )
  return { ...controls, form, conflict, send: saving.mutate }
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
