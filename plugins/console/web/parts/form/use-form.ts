import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { notify } from '../../app/notices.ts'
import { bindFields, type Fields } from './fields.ts'

interface NewRecord<V, R> {
  readonly initial: V
  readonly fields: Fields<V>
  readonly save: (values: V) => Promise<R>
  readonly notice?: (result: R) => string
  readonly onDone?: (result: R) => void
}

/** The form of a new record. `result` is the reply after it was saved; `reset` allows another one. */
export function useForm<V, R>({ initial, fields, save, notice, onDone }: NewRecord<V, R>) {
  const [values, setValues] = useState(initial)
  const saving = useMutation({
    meta: { shown: true },
    mutationFn: () => save(values),
    onSuccess: result => {
      if (notice) notify(notice(result))
      onDone?.(result)
    }
  })
  const { error, isPending, data: result } = saving
  const { generalError, ...controls } = bindFields({ values, setValues, fields, error })
  const form = { isBusy: isPending, error: generalError, onSubmit: () => saving.mutate() }
  return { ...controls, form, values, error, result, reset: saving.reset }
}
