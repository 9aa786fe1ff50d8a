import { Paper, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { text } from '../text/text.ts'

export interface Difference {
  readonly name: string
  readonly now: ReactNode
  readonly mine: ReactNode
}

/** An edit that somebody overtook: what is there now beside what was to be saved. */
export const Overtaken = ({ fields }: { readonly fields: readonly Difference[] }) => (
  <Paper withBorder p="sm">
    <table className="plain">
      <caption>{text.overtaken.title}</caption>
      <thead>
        <tr>
          <th scope="col">{text.overtaken.field}</th>
          <th scope="col">{text.overtaken.now}</th>
          <th scope="col">{text.overtaken.mine}</th>
        </tr>
      </thead>
      <tbody>
        {fields.map(({ name, now, mine }) => (
          <tr key={name} data-differs={now !== mine || undefined}>
            <th scope="row">{name}</th>
            <td>{now}</td>
            <td>{mine}</td>
          </tr>
        ))}
      </tbody>
    </table>
    <Text size="sm">{text.overtaken.again}</Text>
  </Paper>
)
