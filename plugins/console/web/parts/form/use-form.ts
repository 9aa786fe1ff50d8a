import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { ApiError } from '../../api/api-error.ts'
import { notify } from '../../app/notices.ts'
import { bindFields, type Fields, wrongFields } from './fields.ts'

interface NewRecord<V, R> {
  readonly initial: V
  readonly fields: Fields<NoInfer<V>>
  readonly save: (values: V) => Promise<R>
  readonly notice?: (result: R) => string
  readonly onDone?: (result: R) => void
}

/** The form of a new record. `result` is the reply after it was saved; `reset` allows another one. */
export function useForm<V, R>({ initial, fields, save, notice, onDone }: NewRecord<V, R>) {
  const [values, setValues] = useState(initial)
  const [refusal, refuse] = useState<ApiError | null>(null)
  const saving = useMutation({
    meta: { shown: true },
    mutationFn: () => save(values),
    onSuccess: result => {
      if (notice) notify(notice(result))
      onDone?.(result)
    }
  })
  const { isPending, data: result } = saving
  const error = refusal ?? saving.error
  const { generalError, ...controls } = bindFields({ values, setValues, fields, error })
  const form = {
    isBusy: isPending,
    error: generalError,
    check: () => wrongFields(values, fields),
    onRefused: refuse,
    onSubmit: () => saving.mutate()
  }
  return { ...controls, form, values, error, result, reset: saving.reset }
}
