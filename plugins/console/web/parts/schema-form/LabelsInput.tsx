import { Textarea } from '@mantine/core'
import { useState } from 'react'
import { text } from '../../text/text.ts'
import type { Values } from './values.ts'

interface Props {
  readonly label: string
  readonly description?: string | undefined
  readonly error: string | null
  readonly name: string
  readonly value: Values
  readonly onChange: (value: Values | undefined) => void
}

/** Keys and values, a line each: env=prod */
export function LabelsInput({ value, onChange, ...shown }: Props) {
  const [lines, setLines] = useState(() => linesOf(value))
  return (
    <Textarea
      {...shown}
      placeholder={text.form.labelsExample}
      rows={Math.min(8, Math.max(2, lines.split('\n').length))}
      value={lines}
      autoCapitalize="none"
      spellCheck={false}
      onChange={event => {
        setLines(event.currentTarget.value)
        onChange(labelsOf(event.currentTarget.value))
      }}
    />
  )
}

export const linesOf = (labels: Values): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join('\n')

function labelsOf(lines: string): Values | undefined {
  const pairs = lines
    .split(/[\n,]/)
    .map(line => line.trim())
    .filter(Boolean)
    .map(line => {
      const at = line.indexOf('=')
      return at < 0 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    })
  return pairs.length === 0 ? undefined : Object.fromEntries(pairs)
}
