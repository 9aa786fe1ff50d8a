import { Button, Checkbox, Group, Text } from '@mantine/core'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { errorOf } from '../../api/api-error.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import { Empty } from '../../parts/EmptyState.tsx'
import { zone } from '../../parts/local-time.ts'
import { Head } from '../../parts/PageHead.tsx'
import { Loaded } from '../../parts/QueryResult.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { columns } from './columns.tsx'
import { EntryDetails } from './EntryDetails.tsx'
import { FilterForm } from './FilterForm.tsx'
import { type Entry, type Filters, filterNames, useEntries } from './use-entries.ts'

/** The filters are in the address: other pages lead to what somebody did. */
export default function Audit() {
  const [params, setParams] = useSearchParams()
  const filters = Object.fromEntries(filterNames.map(name => [name, params.get(name) ?? ''])) as Record<
    keyof Filters,
    string
  >
  const [follows, follow] = useState(true)
  const { log, loadOlder } = useEntries(filters, follows)
  const isRefused = log.isError && errorOf(log.error).status === 400 // a filter: the form says so
  return (
    <>
      <Head title={text.pages.audit}>
        <Checkbox
          label={text.audit.follow}
          checked={follows}
          onChange={event => follow(event.currentTarget.checked)}
        />
      </Head>
      <FilterForm
        key={params.toString()}
        filters={filters}
        error={isRefused ? log.error : null}
        onChange={next =>
          setParams(new URLSearchParams(Object.entries(next).filter(([, value]) => value !== '')))
        }
      />
      {!isRefused && (
        <Loaded query={log}>
          {({ entries, next }) => <List entries={entries} hasOlder={next !== null} loadOlder={loadOlder} />}
        </Loaded>
      )}
    </>
  )
}

interface ListProps {
  readonly entries: readonly Entry[]
  readonly hasOlder: boolean
  readonly loadOlder: () => Promise<void>
}

function List({ entries, hasOlder, loadOlder }: ListProps) {
  const [shown, show] = useState<Entry | null>(null)
  const [isBusy, setBusy] = useState(false)
  const buttons: Column<Entry> = {
    id: 'do',
    title: '',
    value: ({ request_id }) => request_id,
    cell: entry => (
      <Button size="compact-xs" variant="default" onClick={() => show(entry)}>
        {text.audit.details}
      </Button>
    ),
    width: 6
  }
  const older = (): void => {
    setBusy(true)
    void loadOlder().finally(() => setBusy(false))
  }
  return (
    <>
      <Table
        name="audit"
        what={text.audit.what}
        rows={entries}
        columns={[...columns, buttons]}
        idOf={({ id }) => id}
        empty={<Empty what={text.audit.empty} />}
      />
      {entries.length > 0 && (
        <Group mt="sm" justify="space-between">
          {hasOlder ? (
            <Button variant="default" loading={isBusy} onClick={older}>
              {text.audit.older}
            </Button>
          ) : (
            <Text size="sm" c="dimmed">
              {text.audit.all}
            </Text>
          )}
          <Text size="sm" c="dimmed">
            {text.when.zone(zone())}
          </Text>
        </Group>
      )}
      <Dialog isOpen={shown !== null} onClose={() => show(null)} title={text.audit.entry} size="xl">
        {shown && <EntryDetails entry={shown} />}
      </Dialog>
    </>
  )
}
