import { Text } from '@mantine/core'
import { bytes, count } from '../../format.ts'
import { PageLink } from '../../parts/page/PageLink.tsx'
import { StateLabel } from '../../parts/StateLabel.tsx'
import { linkColumn } from '../../parts/table/columns.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { text } from '../../text/text.ts'
import { hopKey } from './paths.ts'
import type { Link } from './queries.ts'

/** 'paris → lyon' */
export const nameOf = ({ clients: [near, far] }: Link): string =>
  text.links.name(near?.client_name ?? '', far?.client_name ?? '')

export const reasonOf = ({ state_reason: reason }: Pick<Link, 'state_reason'>): string =>
  reason === null ? '' : (text.links.reasons[reason] ?? reason)

export const milliseconds = (ms: number | null | undefined): string =>
  ms == null ? '–' : `${count(Math.round(ms * 10) / 10)} ms`

/** The round trip in ms; null while the link does not work, because the last one says nothing then. */
export const roundTripOf = ({ state, rtt_ms }: Link): number | null =>
  state === 'up' || state === 'degraded' ? (rtt_ms?.p50 ?? null) : null

const dialerOf = ({ clients }: Link): string =>
  clients.find(({ role }) => role === 'dialer')?.client_name ?? ''

const directionOf = (link: Link): string => text.links.dials(dialerOf(link))

const rulesWith = ({ clients: [near, far] }: Link): string =>
  `/rules?link=${hopKey(near?.client_id ?? '', far?.client_id ?? '')}`

export const linkColumns: readonly Column<Link>[] = [
  { id: 'link', title: text.links.link, value: nameOf, cell: link => <Ends link={link} />, width: 8 },
  {
    id: 'state',
    title: text.links.state,
    value: link => `${text.states[link.state]} ${reasonOf(link)}`,
    cell: link => <State link={link} />,
    width: 9
  },
  {
    id: 'direction',
    title: text.links.direction,
    value: directionOf,
    cell: link => (
      <>
        {directionOf(link)}
        {link.direction === 'auto' && <Detail>{text.links.directions.auto}</Detail>}
      </>
    ),
    width: 6.5
  },
  {
    id: 'rtt',
    title: text.links.rtt,
    value: link => roundTripOf(link) ?? -1,
    cell: link => milliseconds(roundTripOf(link)),
    numeric: true,
    width: 6.5
  },
  {
    id: 'loss',
    title: text.links.loss,
    value: ({ loss_percent }) => loss_percent ?? -1,
    cell: ({ loss_percent }) => (loss_percent === null ? '–' : `${count(loss_percent)} %`),
    numeric: true,
    width: 5,
    extra: true
  },
  {
    id: 'connections',
    title: text.links.open,
    value: ({ connections }) => connections.open,
    cell: ({ connections: { open, idle } }) => text.links.openAndIdle(count(open), count(idle)),
    numeric: true,
    width: 7.5
  },
  {
    id: 'bytes',
    title: text.links.bytes,
    value: ({ bytes_in, bytes_out }) => bytes_in + bytes_out,
    cell: ({ bytes_in, bytes_out }) => `${bytes(bytes_in)} / ${bytes(bytes_out)}`,
    numeric: true,
    width: 7.5
  },
  linkColumn(
    'rules',
    text.links.rules,
    link => [count(link.rules), link.rules > 0 ? rulesWith(link) : null],
    {
      width: 4
    }
  ),
  { id: 'note', title: text.links.note, value: ({ note }) => note ?? '', width: 8, extra: true }
]

/** The near and the far client, each with a link to its page. */
const Ends = ({ link: { clients } }: { readonly link: Link }) => (
  <span>
    {clients.map(({ client_id, client_name }, i) => (
      <span key={client_id}>
        {i > 0 && ' → '}
        <PageLink to={`/clients/${client_id}`}>{client_name}</PageLink>
      </span>
    ))}
  </span>
)

const Detail = ({ children }: { readonly children: string }) => (
  <Text size="xs" c="dimmed">
    {children}
  </Text>
)

/** The state, and why it is not better. */
const State = ({ link }: { readonly link: Link }) => (
  <>
    <StateLabel state={link.state} title={reasonOf(link)} />
    {link.state_reason !== null && <Detail>{reasonOf(link)}</Detail>}
  </>
)
