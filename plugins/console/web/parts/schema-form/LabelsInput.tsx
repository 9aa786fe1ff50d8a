import { Textarea } from '@mantine/core'
import { useState } from 'react'
import { text } from '../../text/text.ts'
import { type Labels, labelLines, parseLabels } from '../form/labels.ts'
import type { Values } from './values.ts'

interface Props {
  readonly label: string
  readonly description?: string | undefined
  readonly error: string | null
  readonly name: string
  readonly value: Values
  readonly onChange: (value: Values | undefined) => void
}

/** Labels, one per line: env=prod */
export function LabelsInput({ value, onChange, ...shown }: Props) {
  const [lines, setLines] = useState(() => labelLines(value as Labels))
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
        const labels = parseLabels(event.currentTarget.value)
        onChange(Object.keys(labels).length === 0 ? undefined : labels)
      }}
    />
  )
}
