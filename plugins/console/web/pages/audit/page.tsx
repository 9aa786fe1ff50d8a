import { Button, Checkbox, Group, Text } from '@mantine/core'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { toApiError } from '../../api/api-error.ts'
import { Dialog } from '../../parts/dialog/Dialog.tsx'
import { browserTimeZone } from '../../parts/local-time.ts'
import { PageHead } from '../../parts/page/PageHead.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { actionsColumn } from '../../parts/table/columns.tsx'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { auditColumns } from './audit-columns.tsx'
import { EntryDetails } from './EntryDetails.tsx'
import { FilterForm } from './FilterForm.tsx'
import { type Entry, type Filters, filterNames, useEntries } from './use-entries.ts'
import { useRecordNames } from './use-record-names.ts'

/** The filters are in the URL, so that other pages can link to a filtered log. */
export default function Audit() {
  const [params, setParams] = useSearchParams()
  const filters = Object.fromEntries(filterNames.map(name => [name, params.get(name) ?? ''])) as Record<
    keyof Filters,
    string
  >
  const [follows, follow] = useState(true)
  const { log, loadOlder } = useEntries(filters, follows)
  const isRefused = log.isError && toApiError(log.error).status === 400 // an invalid filter: the form shows the error
  return (
    <>
      <PageHead title={text.pages.audit}>
        <Checkbox
          label={text.audit.follow}
          checked={follows}
          onChange={event => follow(event.currentTarget.checked)}
        />
      </PageHead>
      <FilterForm
        key={params.toString()}
        filters={filters}
        error={isRefused ? log.error : null}
        onChange={next =>
          setParams(new URLSearchParams(Object.entries(next).filter(([, value]) => value !== '')))
        }
      />
      {!isRefused && (
        <QueryResult query={log}>
          {({ entries, next }) => (
            <EntryList entries={entries} hasOlder={next !== null} loadOlder={loadOlder} />
          )}
        </QueryResult>
      )}
    </>
  )
}

interface ListProps {
  readonly entries: readonly Entry[]
  readonly hasOlder: boolean
  readonly loadOlder: () => Promise<void>
}

function EntryList({ entries, hasOlder, loadOlder }: ListProps) {
  const [shown, show] = useState<Entry | null>(null)
  const nameOf = useRecordNames()
  const [isBusy, setBusy] = useState(false)
  const detailsButton = (entry: Entry) => (
    <Button size="compact-xs" variant="default" onClick={() => show(entry)}>
      {text.audit.details}
    </Button>
  )
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
        columns={[...auditColumns(nameOf), actionsColumn(detailsButton, 6)]}
        idOf={({ id }) => id}
        empty={text.audit.empty}
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
            {text.when.zone(browserTimeZone())}
          </Text>
        </Group>
      )}
      <Dialog isOpen={shown !== null} onClose={() => show(null)} title={text.audit.entry} size="xl">
        {shown && <EntryDetails entry={shown} nameOf={nameOf} />}
      </Dialog>
    </>
  )
}
