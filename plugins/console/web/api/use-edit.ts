import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { errorOf } from './api-error.ts'
import type { Versioned } from './call.ts'

interface Edit<T, V> {
  readonly read: () => Promise<Versioned<T>>
  readonly save: (values: V, headers: { readonly 'if-match': string }) => Promise<unknown>
  /** The change is pending until it is over: whoever reads anew and begins another form returns when that is there. */
  readonly onSaved: () => void | Promise<void>
}

/**
 * Changes a record as it was when its form opened. If somebody else has changed it since, nothing is saved, `theirs` is what
 * is there now, and saving again replaces it.
 */
export function useEdit<T, V>(opened: Versioned<T>, { read, save, onSaved }: Edit<T, V>) {
  const [base, setBase] = useState(opened)
  const [theirs, setTheirs] = useState<T | null>(null)
  const change = useMutation({
    meta: { shown: true },
    mutationFn: async (values: V) => {
      try {
        return await save(values, { 'if-match': base.etag })
      } catch (thrown) {
        if (errorOf(thrown).status === 412) {
          const now = await read()
          setBase(now)
          setTheirs(now.value)
        }
        throw thrown
      }
    },
    onSuccess: onSaved
  })
  return { change, theirs }
}
