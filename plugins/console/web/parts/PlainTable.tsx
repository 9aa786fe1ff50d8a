import type { ReactNode } from 'react'

export interface PlainColumn {
  readonly title: string
  readonly numeric?: true
}

interface Props {
  readonly label: string
  readonly columns: readonly PlainColumn[]
  readonly rows: readonly { readonly key: string; readonly cells: readonly ReactNode[] }[]
}

/** A short list that needs neither search nor order. Wider than the page it scrolls, by the keyboard, too. */
export const PlainTable = ({ label, columns, rows }: Props) => (
  // biome-ignore lint/a11y/useSemanticElements: these are no fields; and a section would be a second landmark of one name
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be reached by the keyboard
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
