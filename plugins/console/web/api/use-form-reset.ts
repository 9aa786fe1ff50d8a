import { useState } from 'react'

interface Query {
  readonly refetch: () => Promise<unknown>
}

/**
 * Restarts a form after a save: `reset` rereads the record and changes `formKey`, the React key of the form. Call it beside
 * the query; a child would render once more with the old record.
 */
export function useFormReset({ refetch }: Query) {
  const [formKey, setFormKey] = useState(0)
  const reset = async (): Promise<void> => {
    await refetch()
    setFormKey(formKey + 1)
  }
  return { formKey, reset }
}
