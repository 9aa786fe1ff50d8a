import { Textarea } from '@mantine/core'
import { useState } from 'react'
import { text } from '../../text/text.ts'

interface Props {
  readonly label: string
  readonly description?: string | undefined
  readonly error: string | null
  readonly name: string
  readonly value: unknown
  readonly onChange: (value: unknown) => void
}

/** A JSON text field, for schemas without a better control. Invalid JSON shows an error and does not change the value. */
export function JsonInput({ value, onChange, error, ...shown }: Props) {
  const [written, setWritten] = useState(() => (value === undefined ? '' : JSON.stringify(value, null, 2)))
  const read = readJson(written)
  return (
    <Textarea
      {...shown}
      error={read.ok ? error : text.form.invalidJson}
      rows={3}
      value={written}
      autoCapitalize="none"
      spellCheck={false}
      onChange={event => {
        setWritten(event.currentTarget.value)
        const next = readJson(event.currentTarget.value)
        if (next.ok) onChange(next.value)
      }}
    />
  )
}

function readJson(written: string): { readonly ok: true; readonly value: unknown } | { readonly ok: false } {
  if (written.trim() === '') return { ok: true, value: undefined }
  try {
    return { ok: true, value: JSON.parse(written) }
  } catch {
    return { ok: false }
  }
}
