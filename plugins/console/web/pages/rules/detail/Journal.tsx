import { Button, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call, type Row } from '../../../api/call.ts'
import { PlainTable } from '../../../parts/PlainTable.tsx'
import { QueryResult } from '../../../parts/QueryResult.tsx'
import { isObject } from '../../../parts/schema-form/values.ts'
import { Timestamp } from '../../../parts/Timestamp.tsx'
import { text } from '../../../text/text.ts'
import { addressOf } from '../queries.ts'
import { formatValue } from './format-value.ts'

type Entry = Row<'GET /v1/rules/{rule_id}/journal'>

const firstLimit = 20
const maxLimit = 500

/** Journal entries of the rule, newest first. */
export function Journal({ id }: { readonly id: string }) {
  const [limit, setLimit] = useState(firstLimit)
  const journal = useQuery({
    queryKey: ['journal', id, limit],
    queryFn: () => call('GET /v1/rules/{rule_id}/journal', { path: { rule_id: id }, query: { limit } }),
    placeholderData: before => before
  })
  return (
    <QueryResult query={journal}>
      {entries =>
        entries.length === 0 ? (
          <Text c="dimmed">{text.ruleDetail.noJournal}</Text>
        ) : (
          <>
            <PlainTable
              label={text.ruleDetail.journal}
              columns={[
                { title: text.ruleDetail.when },
                { title: text.ruleDetail.kind },
                { title: text.ruleDetail.change },
                { title: text.ruleDetail.cause }
              ]}
              rows={entries.map((entry, i) => ({ key: `${entry.ts} ${i}`, cells: toCells(entry) }))}
            />
            {entries.length === limit && limit < maxLimit && (
              <Button
                variant="default"
                size="xs"
                mt="sm"
                onClick={() => setLimit(Math.min(maxLimit, limit * 2))}
              >
                {text.ruleDetail.more}
              </Button>
            )}
          </>
        )
      }
    </QueryResult>
  )
}

const toCells = ({ ts, kind, from, to, cause, details }: Entry) => [
  <Timestamp key="ts" at={ts} format="seconds" />,
  text.kinds[kind] ?? kind,
  [
    subjectOf(details),
    [from, to]
      .map(kind === 'state' ? stateName : value => format(value, details['field']))
      .filter(Boolean)
      .join(' → ')
  ]
    .filter(Boolean)
    .join(': '),
  [cause, typeof details['actor'] === 'string' && details['actor']].filter(Boolean).join(' · ')
]

/** The subject of the entry: a field, a target or a client. */
const subjectOf = ({ field, target, client_name }: Entry['details']): string =>
  [field, target, client_name].filter(part => typeof part === 'string').join(' ')

const stateName = (state: unknown): string =>
  (text.states as Readonly<Record<string, string>>)[String(state)] ?? format(state)

function format(value: unknown, field?: unknown): string {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value) && value.every(isTarget)) return value.map(addressOf).join(', ')
  return formatValue(value, String(field ?? ''))
}

const isTarget = (value: unknown): value is Target => isObject(value) && 'host' in value && 'port' in value
type Target = Parameters<typeof addressOf>[0]
