import { Type } from '../../kernel/cli/args.ts'
import { type Column, defineCommand } from '../../kernel/cli/command.ts'
import { absoluteTime } from '../http/command-exports.ts'
import { findRuleId, RuleArg } from '../rules/command-exports.ts'
import type { EntryRow } from './schema.ts'

const toText = (value: unknown): string =>
  value === null ? '-' : typeof value === 'string' ? value : JSON.stringify(value)

const columns: readonly Column<EntryRow>[] = [
  'ts',
  'kind',
  ['from', ({ from }) => toText(from)],
  ['to', ({ to }) => toText(to)],
  ['cause', ({ cause }) => cause ?? '-'],
  [
    'details',
    ({ details }) =>
      Object.entries(details)
        .map(([key, value]) => `${key}=${toText(value)}`)
        .join(' ')
  ],
  ['request_id', ({ request_id: id }) => id ?? '-']
]

const journal = defineCommand({
  name: 'rule journal',
  summary: 'Show what happened to a rule and why, newest first.',
  examples: ['sluice rule journal web --kind failover --since 24h'],
  args: Type.Object({
    rule: RuleArg,
    since: Type.Optional(
      Type.String({ description: 'The oldest time: 2026-01-31T12:00:00Z, or 90m, 12h, 7d, 2w ago.' })
    ),
    until: Type.Optional(Type.String({ description: 'The newest time, in the same form.' })),
    kind: Type.Optional(
      Type.String({ description: 'Only this kind: state, failover, target, limit, quota, edge, change.' })
    ),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1000, description: 'Number of entries; default 100.' })
    )
  }),
  positional: ['rule'],
  async run({ api, args: { rule, since, until, kind, limit = 100 }, print }) {
    const query = {
      limit,
      ...(since !== undefined && { since: absoluteTime(since) }),
      ...(until !== undefined && { until: absoluteTime(until) }),
      ...(kind !== undefined && { kind })
    }
    const path = { rule_id: await findRuleId(api, rule) }
    print.data(await api.call('GET /v1/rules/{rule_id}/journal', { path, query }), columns)
  }
})

export const commands = [journal]
