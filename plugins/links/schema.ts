import { type Static, Type } from 'typebox'
import { ClientId, closed, orNull, timeOf } from '../../kernel/http/schema.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { listFilterSlots, listFilters, recordFieldSlots, recordFields } from '../http/exports.ts'
import { invalidLink } from './codes.ts'
import { Hosts } from './endpoint.ts'
import { maxTestBytes, maxTestSecs } from './wire.ts'

type Values = Readonly<Record<string, unknown>>

const code = invalidLink.code

const LinkId = Type.String({ description: 'ULID.', examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NM'] })

const Direction = Type.Union([Type.Literal('auto'), Type.Literal('reverse'), Type.Literal('direct')], {
  code,
  examples: ['auto'],
  description:
    'reverse: the far client dials. direct: the near client dials. auto: the far client dials if the near one has an endpoint, else the near one; after 10 s without a link also the other way.'
})

const State = Type.Union(
  [
    Type.Literal('unused'),
    Type.Literal('connecting'),
    Type.Literal('up'),
    Type.Literal('degraded'),
    Type.Literal('down')
  ],
  {
    description:
      'unused: no active rule needs the link. connecting: the first attempt runs. degraded: the loss of the last minute is above 5 %. down: it does not answer.'
  }
)

const Milliseconds = orNull(Type.Number(), { examples: [38.2] })

const LinkRecordRow = Type.Object({
  link_id: LinkId,
  clients: Type.Array(
    closed({
      client_id: ClientId,
      client_name: Type.String({ description: 'Name of the client.', examples: ['paris'] }),
      role: Type.Union([Type.Literal('dialer'), Type.Literal('listener')], {
        description: 'dialer: the client opens the link. listener: it has the port.'
      })
    }),
    {
      minItems: 2,
      maxItems: 2,
      description: 'The near client, towards the entry, and the far client.',
      examples: [
        [
          { client_id: '01KCD3F0P7Q4Y6Z8V1T5S9R2NA', client_name: 'paris', role: 'listener' },
          { client_id: '01KCD3F0P7Q4Y6Z8V1T5S9R2NB', client_name: 'lyon', role: 'dialer' }
        ]
      ]
    }
  ),
  direction: Direction,
  hosts: orNull(Hosts, {
    description: 'Hosts to dial, instead of those of the listener’s endpoint. Users read null.',
    examples: [null]
  }),
  udp_wanted: Type.Boolean({ description: 'The setting `udp`.', examples: [true] }),
  state: State,
  state_reason: orNull(
    Type.String({
      description:
        'Why the link is `down` or `degraded`: unreachable, refused, timeout, pin_mismatch, no_endpoint, peer_revoked, peer_away, port_in_use, denied_by_agent, loss.'
    }),
    { examples: [null] }
  ),
  since: timeOf('When it entered the state.'),
  rtt_ms: orNull(
    closed({
      last: Type.Number({ description: 'Of the last ping.', examples: [38.2] }),
      p50: Type.Number({ description: 'Median.', examples: [38] }),
      p99: Type.Number({ description: '99th percentile.', examples: [41.7] })
    }),
    { description: 'Round trip of pings, in milliseconds; null while none was answered.' }
  ),
  loss_percent: orNull(Type.Number({ description: 'Unanswered pings of the last minute.', examples: [0] })),
  udp: Type.Union([Type.Literal('up'), Type.Literal('blocked'), Type.Literal('off')], {
    description: 'State of the datagrams of the link.',
    examples: ['off']
  }),
  connections: closed(
    {
      open: Type.Integer({ description: 'Those that carry a client connection.', examples: [12] }),
      idle: Type.Integer({ description: 'Those that are ready for the next one.', examples: [4] })
    },
    { description: 'TCP connections of the link.' }
  ),
  bytes_in: Type.Integer({ description: 'Payload towards the far client, since its agent started.' }),
  bytes_out: Type.Integer({ description: 'Payload towards the near client.' }),
  rules: Type.Integer({ description: 'Rules whose path has the link; for users, their own.', examples: [3] }),
  encryption: Type.Literal('tls', { description: 'Always TLS 1.3.' }),
  note: orNull(Type.String({ description: 'Free text.' }), { examples: [null] }),
  updated_at: timeOf('When a setting changed.')
})
export type LinkRecord = Static<typeof LinkRecordRow> & Values

export const fieldsIn = (filled: SlotReader) => filled(recordFieldSlots.link)

export const linkRow = (filled: SlotReader) =>
  Type.Unsafe<LinkRecord>(
    closed({ ...LinkRecordRow.properties, ...recordFields.shown(fieldsIn(filled)) }, { $id: 'Link' })
  )

const Note = Type.Refine(
  Type.String({
    maxLength: 255,
    description: 'Free text, at most 255 bytes.',
    examples: ['via the new uplink']
  }),
  text => Buffer.byteLength(text) <= 255,
  text => `must have at most 255 bytes, got ${Buffer.byteLength(text)}`
)

/** The settings of a link, in PATCH and in documents. */
export const Settings = Type.Object({
  direction: Type.Optional(Direction),
  hosts: Type.Optional(
    orNull(Hosts, {
      code,
      description: 'Hosts to dial, instead of those of the listener’s endpoint; null: the endpoint’s.'
    })
  ),
  udp: Type.Optional(
    Type.Boolean({ code, description: 'Whether datagrams may use UDP. Reads show it as `udp_wanted`.' })
  ),
  note: Type.Optional(orNull(Note))
})
export type SettingsBody = Static<typeof Settings> & Values

/** An empty note is none. */
export const parseNote = (note: string | null): string | null => note || null

export const settingsBody = (filled: SlotReader) =>
  Type.Unsafe<SettingsBody>(
    closed(
      { ...Settings.properties, ...recordFields.patched(fieldsIn(filled)) },
      { examples: [{ direction: 'reverse', note: 'paris has no open port' }] }
    )
  )

const Filter = Type.Object({
  client: Type.Optional(
    Type.String({
      description: 'Only links of this client: its id, or a name that several may have.',
      examples: ['paris']
    })
  ),
  state: Type.Optional(State)
})
export type LinkFilter = Static<typeof Filter> & Values

export const listQuery = (filled: SlotReader) =>
  Type.Unsafe<LinkFilter>(
    closed({ ...Filter.properties, ...listFilters.parameters(filled(listFilterSlots.link)) })
  )

export const LinkParams = closed({ link_id: LinkId })
export const ClientParams = closed({ client_id: ClientId })

export const TestBody = closed(
  {
    bytes: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: maxTestBytes,
        description: 'Bytes to send in each direction. Default 4 MiB.'
      })
    ),
    secs: Type.Optional(
      Type.Integer({ minimum: 1, maximum: maxTestSecs, description: 'Longest duration. Default 5.' })
    )
  },
  { examples: [{ bytes: 4_194_304, secs: 5 }] }
)
export type TestBody = Static<typeof TestBody>

export const TestResult = closed(
  {
    rtt_ms: orNull(Type.Number({ description: 'Round trip of a ping, in milliseconds.' }), {
      examples: [38.2]
    }),
    handshake_ms: { ...Milliseconds, description: 'Duration of a handshake, in milliseconds.' },
    up_bps: orNull(Type.Number({ description: 'Rate towards the far client, in bit/s.' }), {
      examples: [91_000_000]
    }),
    down_bps: orNull(Type.Number({ description: 'Rate towards the near client, in bit/s.' }), {
      examples: [88_000_000]
    }),
    udp: LinkRecordRow.properties.udp,
    error: orNull(
      Type.String({ description: 'Why the test failed, as `state_reason`; figures are null then.' }),
      { examples: [null] }
    )
  },
  { $id: 'LinkTest' }
)
export type TestResult = Static<typeof TestResult>
