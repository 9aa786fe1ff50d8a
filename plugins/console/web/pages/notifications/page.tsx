import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call, type Row, rows } from '../../api/call.ts'
import { useRight } from '../../api/rights.ts'
import { count } from '../../format.ts'
import { EmptyState } from '../../parts/EmptyState.tsx'
import { PlainTable } from '../../parts/PlainTable.tsx'
import { PageHead } from '../../parts/page/PageHead.tsx'
import { Section } from '../../parts/page/Section.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { Timestamp } from '../../parts/Timestamp.tsx'
import { text } from '../../text/text.ts'
import { Channels } from './Channels.tsx'

type Notification = Row<'GET /v1/notifications'>

const words = text.notifications
const newest = 100

export default function Notifications() {
  const seesAll = useRight('seesAll')
  const notifications = useQuery({
    queryKey: ['notifications'],
    queryFn: () => call('GET /v1/notifications', { query: { limit: newest } })
  })
  const channels = useQuery({
    queryKey: ['notification-channels'],
    queryFn: () => rows('GET /v1/notifications/channels'),
    enabled: seesAll
  })
  return (
    <>
      <PageHead title={text.pages.notifications} />
      {seesAll && (
        <Section title={words.channels}>
          <QueryResult query={channels}>
            {found =>
              found.length > 0 ? <Channels channels={found} /> : <EmptyState what={words.noChannels} />
            }
          </QueryResult>
        </Section>
      )}
      <Section title={words.newest}>
        <QueryResult query={notifications}>
          {found =>
            found.length > 0 ? (
              <List notifications={found} seesAll={seesAll} />
            ) : (
              <EmptyState what={seesAll ? words.none : words.noneOwn} />
            )
          }
        </QueryResult>
      </Section>
    </>
  )
}

interface ListProps {
  readonly notifications: readonly Notification[]
  readonly seesAll: boolean
}

const List = ({ notifications, seesAll }: ListProps) => (
  <PlainTable
    label={words.newest}
    columns={[
      { title: words.at },
      { title: words.kind },
      { title: words.objects, wraps: true },
      ...(seesAll ? [{ title: words.deliveries }] : [])
    ]}
    rows={notifications.map(one => ({
      key: one.notification_id,
      cells: [
        <Timestamp key="at" at={one.at} />,
        kindOf(one),
        namesOf(one),
        ...(seesAll ? [<Deliveries key="deliveries" of={one} />] : [])
      ]
    }))}
  />
)

/** Kinds of other plugins have no translation. */
const kindOf = ({ kind }: Notification): string =>
  (words.kinds as Readonly<Record<string, string>>)[kind] ?? kind

const namesOf = ({ names, count: all }: Notification): string =>
  all > names.length ? words.more(names.join(', '), count(all - names.length)) : names.join(', ')

const Deliveries = ({ of: { deliveries = [] } }: { readonly of: Notification }) =>
  deliveries.length === 0
    ? '–'
    : deliveries.map(({ channel, state, error }) => (
        <Text key={channel} size="sm" title={error ?? undefined}>
          {channel}: {words.states[state]}
        </Text>
      ))
