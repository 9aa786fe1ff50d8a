import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { toApiError } from './api-error.ts'
import type { Versioned } from './call.ts'

interface Edit<T, V> {
  readonly read: () => Promise<Versioned<T>>
  readonly save: (values: V, headers: { readonly 'if-match': string }) => Promise<unknown>
  /** The mutation stays pending until this resolves. */
  readonly onSaved: (values: V) => void | Promise<void>
}

/**
 * Edits the version of a record that the form opened. If somebody else changed the record, the save fails and `theirs` is
 * the current version. The next save replaces it.
 */
export function useVersionedEdit<T, V>(opened: Versioned<T>, { read, save, onSaved }: Edit<T, V>) {
  const [base, setBase] = useState(opened)
  const [theirs, setTheirs] = useState<T | null>(null)
  const change = useMutation({
    meta: { shown: true },
    mutationFn: async (values: V) => {
      try {
        return await save(values, { 'if-match': base.etag })
      } catch (thrown) {
        if (toApiError(thrown).status === 412) {
          const now = await read()
          setBase(now)
          setTheirs(now.value)
        }
        throw thrown
      }
    },
    onSuccess: (_reply, values) => onSaved(values)
  })
  return { change, theirs }
}
