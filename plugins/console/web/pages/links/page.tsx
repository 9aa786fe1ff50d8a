import { Button, Group, NativeSelect } from '@mantine/core'
import { Link as RouterLink } from 'wouter'
import { useRight } from '../../api/rights.ts'
import { EmptyState } from '../../parts/EmptyState.tsx'
import { PageHead } from '../../parts/page/PageHead.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { useUrlFilter } from '../../parts/use-url-filter.ts'
import { text } from '../../text/text.ts'
import { LinkTable } from './LinkTable.tsx'
import { type Link, useLinks } from './queries.ts'

const states = ['up', 'degraded', 'down', 'connecting', 'unused'] as const

type Filter = Readonly<Record<'client' | 'state', string>>

/** /links?client=ID&state=down */
export default function Links() {
  const links = useLinks()
  const { filter, set } = useUrlFilter(['client', 'state'])
  const isFiltered = filter.client !== '' || filter.state !== ''
  return (
    <>
      <PageHead title={text.pages.links} />
      <QueryResult query={links}>
        {all => (
          <>
            {(all.length > 0 || isFiltered) && <FilterInputs links={all} filter={filter} set={set} />}
            <LinkTable
              links={all.filter(link => matches(link, filter))}
              empty={isFiltered ? text.table.none : <NoLinks />}
            />
          </>
        )}
      </QueryResult>
    </>
  )
}

/** Links come with rules. */
function NoLinks() {
  const mayAdd = useRight('changesRules')
  return (
    <EmptyState what={text.links.empty}>
      {mayAdd && (
        <Button component={RouterLink} href="/rules/new">
          {text.rules.add}
        </Button>
      )}
    </EmptyState>
  )
}

const matches = ({ clients, state: own }: Link, { client, state }: Filter): boolean =>
  (state === '' || own === state) && (client === '' || clients.some(({ client_id }) => client_id === client))

interface FilterProps {
  readonly links: readonly Link[]
  readonly filter: Filter
  readonly set: (name: keyof Filter, value: string) => void
}

/** Offers the clients that have links. */
function FilterInputs({ links, filter, set }: FilterProps) {
  const clients = new Map(
    links.flatMap(link => link.clients.map(({ client_id, client_name }) => [client_id, client_name] as const))
  )
  return (
    <Group mb="sm" gap="sm" className="tools">
      <NativeSelect
        aria-label={text.rules.client}
        value={filter.client}
        onChange={event => set('client', event.currentTarget.value)}
        data={[
          { value: '', label: text.links.anyClient },
          ...[...clients].map(([value, label]) => ({ value, label }))
        ]}
      />
      <NativeSelect
        aria-label={text.links.state}
        value={filter.state}
        onChange={event => set('state', event.currentTarget.value)}
        data={[
          { value: '', label: text.rules.anyState },
          ...states.map(value => ({ value, label: text.states[value] }))
        ]}
      />
    </Group>
  )
}
