import { useState } from 'react'

interface Read {
  readonly refetch: () => Promise<unknown>
}

/**
 * The forms of a record, one after another: `begin` reads it anew, and then another one begins. `form` is its key.
 * Called where the query is: a child would be drawn with what its parent has read before.
 */
export function useForms({ refetch }: Read) {
  const [form, setForm] = useState(0)
  const begin = async (): Promise<void> => {
    await refetch()
    setForm(form + 1)
  }
  return { form, begin }
}
