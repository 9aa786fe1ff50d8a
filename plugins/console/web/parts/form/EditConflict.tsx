import { Paper, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { text } from '../../text/text.ts'

interface Difference {
  readonly name: string
  readonly now: ReactNode
  readonly yours: ReactNode
}

/** After an edit conflict: the current values beside the values to save. */
export const EditConflict = ({ fields }: { readonly fields: readonly Difference[] }) => (
  <Paper withBorder p="sm">
    <table className="plain">
      <caption>{text.editConflict.title}</caption>
      <thead>
        <tr>
          <th scope="col">{text.editConflict.field}</th>
          <th scope="col">{text.editConflict.now}</th>
          <th scope="col">{text.editConflict.yours}</th>
        </tr>
      </thead>
      <tbody>
        {fields.map(({ name, now, yours }) => (
          <tr key={name} data-differs={now !== yours || undefined}>
            <th scope="row">{name}</th>
            <td>{now}</td>
            <td>{yours}</td>
          </tr>
        ))}
      </tbody>
    </table>
    <Text size="sm">{text.editConflict.again}</Text>
  </Paper>
)
