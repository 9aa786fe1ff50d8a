import type { ReactNode } from 'react'

interface PlainColumn {
  readonly title: string
  readonly numeric?: true
}

interface Props {
  readonly label: string
  readonly columns: readonly PlainColumn[]
  readonly rows: readonly { readonly key: string; readonly cells: readonly ReactNode[] }[]
}

/** A short table without search and sort. Scrolls sideways if it is wider than the page. */
export const PlainTable = ({ label, columns, rows }: Props) => (
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
            {columns.map(({ title, numeric }, i) => (
              <td key={title} data-numeric={numeric}>
                {cells[i]}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)
