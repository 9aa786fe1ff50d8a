import { type FormEvent, useRef } from 'react'
import { ApiError, type WrongField } from '../../api/api-error.ts'

interface CheckedForm {
  readonly onSubmit: () => void
  /** Takes the error that names all wrong fields, or null if there are none. */
  readonly onRefused: (error: ApiError | null) => void
  readonly check?: () => readonly WrongField[]
}

/**
 * Returns the props of a form that names all wrong fields before it submits. The browser itself would name only the first
 * one, in its own language.
 */
export function useCheckedForm({ onSubmit, onRefused, check = () => [] }: CheckedForm) {
  const ref = useRef<HTMLFormElement>(null)
  const submit = (event: FormEvent<HTMLElement>): void => {
    event.preventDefault()
    const missing = ref.current === null ? [] : missingIn(ref.current)
    const names = new Set(missing.map(({ field }) => field))
    const wrong = [...missing, ...check().filter(({ field }) => !names.has(field))]
    onRefused(wrong.length === 0 ? null : refusalOf(wrong))
    const [first] = wrong
    if (first) ref.current?.querySelector<HTMLElement>(`[name="${CSS.escape(first.field)}"]`)?.focus()
    else onSubmit()
  }
  return { ref, noValidate: true, onSubmit: submit }
}

/** Returns the required fields without a value. */
const missingIn = (form: HTMLFormElement): readonly WrongField[] =>
  [...form.elements]
    .filter(control => 'validity' in control && (control as HTMLInputElement).validity.valueMissing)
    .map(control => ({ field: (control as HTMLInputElement).name, reason: 'required' }))

/** An error like that of the server. */
const refusalOf = (errors: readonly WrongField[]): ApiError =>
  new ApiError('', { status: 400, code: 'validation.schema', details: { ...errors[0], errors } })
