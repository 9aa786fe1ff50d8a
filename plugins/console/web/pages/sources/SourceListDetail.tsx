import { Anchor, Button, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { errorOf } from '../../api/api-error.ts'
import { call, type Reply, type Versioned, versioned } from '../../api/call.ts'
import { useEdit } from '../../api/use-edit.ts'
import { useForms } from '../../api/use-form-reset.ts'
import { notify } from '../../app/notices.ts'
import { count } from '../../format.ts'
import { Confirm } from '../../parts/ConfirmDialog.tsx'
import { Overtaken } from '../../parts/EditConflict.tsx'
import { Empty } from '../../parts/EmptyState.tsx'
import { Form } from '../../parts/Form.tsx'
import { formErrors } from '../../parts/form-errors.ts'
import { Head } from '../../parts/PageHead.tsx'
import { Loaded } from '../../parts/QueryResult.tsx'
import { text } from '../../text/text.ts'
import { EntriesField } from './EntriesField.tsx'
import { entriesIn } from './parse-entries.ts'

type List = Reply<'GET /v1/source-lists/{list_name}'>

const read = (list_name: string) => versioned('GET /v1/source-lists/{list_name}', { path: { list_name } })

export function Detail({ name }: { readonly name: string }) {
  const list = useQuery({ queryKey: ['source-list', name], queryFn: () => read(name) })
  const { form, begin } = useForms(list)
  return (
    <>
      <Anchor component={Link} href="/sources" size="sm">
        {text.pages.sources}
      </Anchor>
      <Head title={`@${name}`}>{list.data && <Remove list={list.data.value} />}</Head>
      {list.isError && errorOf(list.error).status === 404 ? (
        <Empty what={text.sources.none} />
      ) : (
        <Loaded query={list}>
          {opened => (
            <>
              <Text mb="md">{text.sources.affects(count(opened.value.rule_count))}</Text>
              <Entries key={form} opened={opened} onSaved={begin} />
            </>
          )}
        </Loaded>
      )}
    </>
  )
}

interface EntriesProps {
  readonly opened: Versioned<List>
  readonly onSaved: () => Promise<void>
}

function Entries({ opened, onSaved }: EntriesProps) {
  const { name } = opened.value
  const [lines, setLines] = useState(opened.value.entries.join('\n'))
  const { change, theirs } = useEdit<List, string[]>(opened, {
    read: () => read(name),
    save: (entries, headers) =>
      call('PUT /v1/source-lists/{list_name}', { path: { list_name: name }, body: { entries }, headers }),
    onSaved: () => {
      notify(text.sources.made(name))
      return onSaved()
    }
  })
  const { at, rest } = formErrors(change.error, { entries: ['limit_reached'] })
  return (
    <Form
      does={text.sources.submit}
      isBusy={change.isPending}
      error={rest}
      onSubmit={() => change.mutate(entriesIn(lines))}
    >
      <EntriesField value={lines} onChange={setLines} error={at('entries')} />
      {theirs && (
        <Overtaken
          fields={[
            {
              name: text.sources.entries,
              now: said(theirs.entries),
              mine: said(entriesIn(lines))
            }
          ]}
        />
      )}
    </Form>
  )
}

const most = 50

/** The first ones, and how many more there are. */
const said = (entries: readonly string[]): string =>
  entries.slice(0, most).join(' ') + (entries.length > most ? ` … (${count(entries.length)})` : '')

function Remove({ list: { name, entry_count, rule_count } }: { readonly list: List }) {
  const [asks, ask] = useState(false)
  const [, go] = useLocation()
  const remove = useMutation({
    mutationFn: () => call('DELETE /v1/source-lists/{list_name}', { path: { list_name: name } }),
    onSuccess: () => {
      notify(text.gone(`@${name}`))
      go('/sources')
    }
  })
  return (
    <>
      {rule_count > 0 && (
        <Text size="sm" c="dimmed">
          {text.sources.inUse(count(rule_count))}
        </Text>
      )}
      <Button variant="default" c="var(--bad)" disabled={rule_count > 0} onClick={() => ask(true)}>
        {text.delete}
      </Button>
      <Confirm
        isOpen={asks}
        onClose={() => ask(false)}
        title={text.sources.deleteTitle(name, count(entry_count))}
        does={text.delete}
        isBusy={remove.isPending}
        onConfirm={() => remove.mutate()}
      >
        <Text>{text.undoable}</Text>
      </Confirm>
    </>
  )
}
