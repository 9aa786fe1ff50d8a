import type { ReactNode } from 'react'
import { Cards } from './Cards.tsx'
import { useNarrow } from './use-narrow.ts'

interface PlainColumn {
  readonly title: string
  readonly numeric?: true
  readonly wraps?: true // also the last column wraps
}

interface Props {
  readonly label: string
  readonly columns: readonly PlainColumn[]
  readonly rows: readonly { readonly key: string; readonly cells: readonly ReactNode[] }[]
}

/** A short table without search and sort. */
export const PlainTable = (props: Props) => (useNarrow() ? <RowCards {...props} /> : <WideTable {...props} />)

const RowCards = ({ label, columns, rows }: Props) => (
  <Cards
    label={label}
    rows={rows}
    toCard={({ key, cells: [title, ...cells] }) => ({
      key,
      title,
      facts: cells.map((cell, i) => [columns[i + 1]?.title ?? '', cell] as const)
    })}
  />
)

const WideTable = ({ label, columns, rows }: Props) => (
  // biome-ignore lint/a11y/useSemanticElements: not a fieldset; a section would duplicate a landmark
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard
  <div className="plain-table" role="group" aria-label={label} tabIndex={0}>
    <table>
      <thead>
        <tr>
          {columns.map(({ title, numeric }) => (
            <th key={title} scope="col" data-numeric={numeric}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ key, cells }) => (
          <tr key={key}>
            {columns.map(({ title, numeric, wraps }, i) => (
              <td key={title} data-numeric={numeric} data-wraps={wraps}>
                {cells[i]}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)
