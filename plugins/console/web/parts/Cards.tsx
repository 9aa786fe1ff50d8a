import { Button } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { text } from '../text/text.ts'

interface Card {
  readonly key: string
  readonly title: ReactNode
  readonly before?: ReactNode // of the title, such as a checkbox
  readonly actions?: ReactNode
  readonly facts: readonly (readonly [name: string, value: ReactNode])[] // omits empty values
}

interface Props<R> {
  readonly label: string
  readonly rows: readonly R[]
  readonly toCard: (row: R) => Card
}

const firstShown = 50

/** The rows of a table on a narrow page, each with the names of its values. Shows the first ones until asked for more. */
export function Cards<R>({ label, rows, toCard }: Props<R>) {
  const [most, setMost] = useState(firstShown)
  return (
    <>
      <ul className="cards" aria-label={label}>
        {rows
          .slice(0, most)
          .map(toCard)
          .map(({ key, title, before, actions, facts }) => (
            <li key={key}>
              <div className="card-title">
                {before}
                <strong>{title}</strong>
                {actions}
              </div>
              <dl>
                {facts.map(
                  ([name, value]) =>
                    value !== '' && (
                      <div key={name}>
                        <dt>{name}</dt>
                        <dd>{value}</dd>
                      </div>
                    )
                )}
              </dl>
            </li>
          ))}
      </ul>
      {rows.length > most && (
        <Button variant="default" mt="sm" fullWidth onClick={() => setMost(2 * most)}>
          {text.table.more}
        </Button>
      )}
    </>
  )
}
