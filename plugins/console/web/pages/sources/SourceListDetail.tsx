import { Code, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { toApiError } from '../../api/api-error.ts'
import { call, type Reply, type Versioned, versioned } from '../../api/call.ts'
import { useRight } from '../../api/rights.ts'
import { count } from '../../format.ts'
import { ConfirmButton } from '../../parts/dialog/ConfirmButton.tsx'
import { EmptyState } from '../../parts/EmptyState.tsx'
import { Form } from '../../parts/form/Form.tsx'
import { useEditForm } from '../../parts/form/use-edit-form.tsx'
import { PageHead } from '../../parts/page/PageHead.tsx'
import { PageLink } from '../../parts/page/PageLink.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { text } from '../../text/text.ts'
import { EntriesField, entriesField } from './EntriesField.tsx'
import { parseEntries } from './parse-entries.ts'

type List = Reply<'GET /v1/source-lists/{list_name}'>

const read = (list_name: string) => versioned('GET /v1/source-lists/{list_name}', { path: { list_name } })

export function SourceListDetail({ id: name }: { readonly id: string }) {
  const mayChange = useRight('managesAll')
  const list = useQuery({ queryKey: ['source-list', name], queryFn: () => read(name) })
  return (
    <>
      <PageLink to="/sources">{text.pages.sources}</PageLink>
      <PageHead title={`@${name}`}>
        {mayChange && list.data && <DeleteList list={list.data.value} />}
      </PageHead>
      {list.isError && toApiError(list.error).status === 404 ? (
        <EmptyState what={text.sources.none} />
      ) : (
        <QueryResult query={list}>
          {opened => (
            <>
              <Text mb="md">{text.sources.affects(count(opened.value.rule_count))}</Text>
              {mayChange ? <Entries opened={opened} /> : <Code block>{opened.value.entries.join('\n')}</Code>}
            </>
          )}
        </QueryResult>
      )}
    </>
  )
}

function Entries({ opened }: { readonly opened: Versioned<List> }) {
  const { name } = opened.value
  const { field, form, conflict } = useEditForm(opened, {
    fields: { entries: entriesField },
    toValues: ({ entries }) => ({ entries: entries.join('\n') }),
    toBody: ({ entries }) => ({ entries: parseEntries(entries) }),
    read: () => read(name),
    save: (body, headers) =>
      call('PUT /v1/source-lists/{list_name}', { path: { list_name: name }, body, headers }),
    sends: 'all',
    notice: () => text.sources.saved(name)
  })
  return (
    <Form {...form} submitLabel={text.sources.submit}>
      <EntriesField {...field('entries')} />
      {conflict}
    </Form>
  )
}

function DeleteList({ list: { name, entry_count, rule_count } }: { readonly list: List }) {
  const [, go] = useLocation()
  return (
    <>
      {rule_count > 0 && (
        <Text size="sm" c="dimmed">
          {text.sources.inUse(count(rule_count))}
        </Text>
      )}
      <ConfirmButton
        button={{ disabled: rule_count > 0 }}
        title={text.sources.deleteTitle(name, count(entry_count))}
        action={text.delete}
        run={() => call('DELETE /v1/source-lists/{list_name}', { path: { list_name: name } })}
        notice={text.deleted(`@${name}`)}
        onDone={() => go('/sources')}
      >
        <Text>{text.cannotUndo}</Text>
      </ConfirmButton>
    </>
  )
}
