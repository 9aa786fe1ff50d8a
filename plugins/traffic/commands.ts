import type { TProperties } from 'typebox'
import { systemClock } from '../../kernel/base/clock.ts'
import { Fault, invalidTimeRange } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import { type Api, type CommandCall, defineCommand } from '../../kernel/cli/command.ts'
import { ClientArg, findClientId } from '../clients/command-exports.ts'
import { findRuleId, RuleArg } from '../rules/command-exports.ts'
import { UserArg } from '../users/command-exports.ts'
import { bar } from './chart.ts'
import type { Traffic } from './schema.ts'
import { topCsv, trafficCsv } from './traffic-csv.ts'

const csv = Type.Optional(Type.Boolean({ description: 'Comma-separated values, for a spreadsheet.' }))
const Window = {
  from: Type.Optional(
    Type.String({ description: 'RFC 3339, a date (UTC), or Unix seconds; default: 24 h before --to.' })
  ),
  to: Type.Optional(Type.String({ description: 'Same forms; default: now.' }))
}
const Span = {
  ...Window,
  bucket: Type.Optional(
    Type.Union([Type.Literal('1m'), Type.Literal('1h')], {
      description: 'Default: 1m for a day or less within the last week, else 1h.'
    })
  ),
  csv
}

interface SpanArgs {
  readonly from?: string
  readonly to?: string
  readonly bucket?: '1m' | '1h'
  readonly csv?: boolean
}

interface Window {
  readonly from: number
  readonly to: number
  readonly bucket?: '1m' | '1h'
}

type Read = (api: Api, args: Record<string, string>, window: Window) => Promise<Traffic>

const defineTraffic = <A extends TProperties>(name: string, summary: string, args: A, read: Read) =>
  defineCommand({
    name: `traffic ${name}`,
    summary,
    args: Type.Object({ ...args, ...Span }),
    positional: Object.keys(args).slice(0, 1),
    run: call => show(call as unknown as CommandCall<SpanArgs & Record<string, string>>, read) // `args` are all strings
  })

async function show(
  { api, args, print }: CommandCall<SpanArgs & Record<string, string>>,
  read: Read
): Promise<void> {
  const { bucket } = args
  const { samples } = await read(api, args, { ...toWindow(args), ...(bucket && { bucket }) })
  if (args.csv) return print.text(trafficCsv({ samples }).trimEnd())
  const most = Math.max(0, ...samples.map(({ bytes_in, bytes_out }) => bytes_in + bytes_out))
  print.data(samples, [
    ['time', ({ ts }) => new Date(ts * 1000).toISOString().slice(0, 16).replace('T', ' ')],
    'bytes_in',
    'bytes_out',
    ['connections', ({ connections }) => String(connections)],
    ['refused', ({ refused }) => String(refused)],
    ['total', ({ bytes_in, bytes_out }) => bar(bytes_in + bytes_out, most)]
  ])
}

function toWindow(args: Pick<SpanArgs, 'from' | 'to'>): Window {
  const to = args.to === undefined ? Math.ceil(systemClock.now() / 1000) : parseSecs('to', args.to)
  return { from: args.from === undefined ? to - 86_400 : parseSecs('from', args.from), to }
}

const date = /^\d{4}-\d\d-\d\d$/ // midnight, UTC
const rfc3339 = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/
const unixSecs = /^\d{9,11}$/ // fewer digits are a year, or a mistake

function parseSecs(name: string, text: string): number {
  if (unixSecs.test(text)) return Number(text)
  const ms = date.test(text) || rfc3339.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(ms) || isInvalidDay(text, ms))
    throw new Fault(
      invalidTimeRange,
      `--${name} ${text} is not a time; write 2026-01-31T08:00:00Z, 2026-01-31 (midnight UTC), or Unix seconds`
    )
  return Math.floor(ms / 1000)
}

/** Returns true for days such as February 30, which Date.parse accepts as March 2. */
function isInvalidDay(text: string, ms: number): boolean {
  const day = text.slice(0, 10)
  return (
    Number.isNaN(Date.parse(day)) || new Date(Date.parse(day)).toISOString().slice(0, 10) !== day || ms < 0
  )
}

const rankings = Type.Union(
  [Type.Literal('rule'), Type.Literal('client'), Type.Literal('owner'), Type.Literal('target')],
  { description: 'Default: rule.' }
)

const top = defineCommand({
  name: 'traffic top',
  summary: 'Rank rules, clients, owners or targets by their bytes.',
  args: Type.Object({
    by: Type.Optional(rankings),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, description: 'Number of rows; default: 10.' })
    ),
    ...Window,
    csv
  }),
  async run({ api, args: { by = 'rule', limit, ...args }, print }) {
    const query = { ...toWindow(args), by, ...(limit && { limit }) }
    const rows = await api.call('GET /v1/traffic/top', { query })
    if (args.csv) return print.text(topCsv(rows).trimEnd())
    const most = Math.max(0, ...rows.map(({ bytes_in, bytes_out }) => bytes_in + bytes_out))
    print.data(rows, [
      [by, ({ key }) => key],
      ['name', ({ name }) => name ?? '-'],
      'bytes_in',
      'bytes_out',
      ['connections', ({ connections }) => String(connections)],
      ['refused', ({ refused }) => String(refused)],
      ['total', ({ bytes_in, bytes_out }) => bar(bytes_in + bytes_out, most)]
    ])
  }
})

export const commands = [
  top,
  defineTraffic(
    'rule',
    'Show the traffic of a rule over time.',
    { rule: RuleArg },
    async (api, { rule = '' }, query) =>
      api.call('GET /v1/rules/{rule_id}/traffic', { path: { rule_id: await findRuleId(api, rule) }, query })
  ),
  defineTraffic(
    'user',
    'Show the traffic of a user over time.',
    { user: UserArg, client: Type.Optional(ClientArg) },
    async (api, { user = '', client }, window) => {
      const filter = client === undefined ? {} : { client_id: await findClientId(api, client) }
      return api.call('GET /v1/users/{user_id}/traffic', {
        path: { user_id: user },
        query: { ...window, ...filter }
      })
    }
  ),
  defineTraffic(
    'client',
    'Show the traffic of a client over time.',
    { client: ClientArg, user: Type.Optional(UserArg) },
    async (api, { client = '', user }, window) => {
      const path = { client_id: await findClientId(api, client) }
      const query = { ...window, ...(user !== undefined && { user_id: user }) }
      return api.call('GET /v1/clients/{client_id}/traffic', { path, query })
    }
  ),
  defineTraffic('global', 'Show the traffic of all rules over time.', {}, (api, _, window) =>
    api.call('GET /v1/traffic/global', { query: window })
  )
]
