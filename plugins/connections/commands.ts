import type { TProperties } from 'typebox'
import { Type } from '../../kernel/cli/args.ts'
import { type Api, type Column, defineCommand } from '../../kernel/cli/command.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { addedArgs, addedColumns, addedQuery, listOptionSlots } from '../http/command-exports.ts'
import { findRuleId, RuleArg, requireExisting } from '../rules/command-exports.ts'
import type { ConnectionRow } from './schema.ts'
import { type ColumnName, columnNames } from './top/column-names.ts'

const filters = {
  client: Type.Optional(Type.String({ description: 'Id or unique name of a client.' })),
  rule: Type.Optional(RuleArg),
  owner: Type.Optional(Type.String({ description: 'Id of the owner of the rules.' })),
  source: Type.Optional(Type.String({ description: 'Callers in this CIDR, such as 198.51.100.0/24.' })),
  target: Type.Optional(Type.String({ description: 'Connections to this address, or address:port.' })),
  protocol: Type.Optional(
    Type.Union([Type.Literal('tcp'), Type.Literal('udp')], { description: 'tcp: connections; udp: flows.' })
  )
}

interface Filters {
  readonly client?: string
  readonly rule?: string
  readonly owner?: string
  readonly source?: string
  readonly target?: string
  readonly protocol?: 'tcp' | 'udp'
}

const reads = [listOptionSlots.connection]
const extraArgs = (filled: SlotReader): TProperties => addedArgs(filled(listOptionSlots.connection))

/** Returns the API query with the given filters, those of plugins included. */
const loadQuery = async (
  api: Api,
  { client, rule, owner, source, target, protocol, ...more }: Filters,
  filled: SlotReader
) => ({
  ...addedQuery(filled(listOptionSlots.connection), more),
  ...(client !== undefined && { client }),
  ...(rule !== undefined && { rule_id: await findRuleId(api, rule) }),
  ...(owner !== undefined && { owner }),
  ...(source !== undefined && { source }),
  ...(target !== undefined && { target }),
  ...(protocol !== undefined && { protocol })
})

const columns: readonly Column<ConnectionRow>[] = [
  'source',
  'listen',
  ['target', ({ target }) => target ?? 'connecting'],
  ['divert', ({ divert }) => divert ?? '-'],
  'owner',
  ['rule', ({ rule_name }) => rule_name ?? '-'],
  'bytes_in',
  'bytes_out',
  'opened_at',
  ['idle', ({ idle_secs }) => `${Math.floor(idle_secs)} s`],
  ['rtt', ({ rtt_ms }) => (rtt_ms ? [rtt_ms.caller, rtt_ms.target].map(ms => ms ?? '-').join(' / ') : '-')],
  ['held_by', ({ held_by }) => held_by ?? '-']
]

const list = defineCommand({
  name: 'connection list',
  summary: 'List open connections and flows, largest --sort value first.',
  examples: [
    'sluice connection list --client paris --sort bytes',
    'sluice connection list --source 198.51.100.0/24'
  ],
  args: Type.Object({
    ...filters,
    sort: Type.Optional(
      Type.Union([Type.Literal('age'), Type.Literal('bytes'), Type.Literal('rate'), Type.Literal('idle')], {
        description: 'Sort key; default age. rate: bytes per second since the connection opened.'
      })
    ),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1000, description: 'Maximum number of rows; default 100.' })
    )
  }),
  reads,
  extraArgs,
  async run({ api, args: { sort, limit = 100, ...given }, filled, print }) {
    const query = { limit, ...(sort && { sort }), ...(await loadQuery(api, given, filled)) }
    const rows = await api.call('GET /v1/connections', { query })
    if (rows.length === 0) await requireExisting(api, given)
    print.data(rows, [...columns, ...addedColumns(filled(listOptionSlots.connection)), 'connection_id'])
  }
})

const close = defineCommand({
  name: 'connection close',
  summary: 'Close a connection by id, or all that match a filter. Both sides are reset.',
  examples: ['sluice connection close --source 198.51.100.0/24 --dry-run'],
  args: Type.Object({
    connection: Type.Optional(Type.String({ description: 'Id of the connection.' })),
    ...filters,
    dry_run: Type.Optional(Type.Boolean({ description: 'Count matches and close nothing.' })),
    yes: Type.Optional(Type.Boolean({ description: 'Close without confirmation.' }))
  }),
  positional: ['connection'],
  reads,
  extraArgs,
  async run({ api, args: { connection, dry_run, yes: _, ...given }, filled, print, confirm }) {
    if (connection !== undefined) {
      await api.call('DELETE /v1/connections/{connection_id}', { path: { connection_id: connection } })
      return print.done('closed', { connection_id: connection })
    }
    const query = await loadQuery(api, given, filled)
    const counted = await api.call('DELETE /v1/connections', { query: { ...query, dry_run: true } })
    if (counted.matched === 0) await requireExisting(api, given)
    if (dry_run) return print.done(`${counted.matched} match`, counted)
    await confirm(`Close ${counted.matched} connections?`, { unattended: 'proceed' })
    const done = await api.call('DELETE /v1/connections', { query })
    print.done(`${done.closed} closed`, done)
  }
})

const top = defineCommand({
  name: 'top',
  summary: 'Watch open connections and flows in the terminal: sort, filter, close. Press ? for the keys.',
  examples: ['sluice top --source 198.51.100.0/24', 'sluice top --sort bytes --once'],
  args: Type.Object({
    ...filters,
    sort: Type.Optional(
      Type.Union(
        columnNames.map(name => Type.Literal(name)),
        { description: `Sort column: ${columnNames.join(', ')}; default out/s.` }
      )
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 500,
        description: 'Maximum number of rows from the server; default 200.'
      })
    ),
    once: Type.Optional(
      Type.Boolean({ description: 'Print one frame after a second; works without a terminal.' })
    )
  }),
  until: 'stopped',
  reads,
  extraArgs,
  async run({ args: { sort = 'out/s', limit = 200, once = false, ...filter }, ...call }) {
    const { runTop } = await import('./top/top.ts')
    const moreFilters = Object.keys(extraArgs(call.filled))
    await runTop({ ...call, filter, moreFilters, sort: sort as ColumnName, limit, once }) // checked by its schema
  }
})

export const commands = [list, close, top]
