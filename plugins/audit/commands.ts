import { setTimeout } from 'node:timers/promises'
import type { Static } from 'typebox'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { escapeControlChars } from '../../kernel/base/log.ts'
import { Type } from '../../kernel/cli/args.ts'
import { type Api, type CommandCall, defineCommand } from '../../kernel/cli/command.ts'
import { absoluteTime } from '../http/command-exports.ts'
import type { EntryRow, Page } from './schema.ts'

const pollMs = 2_000
const perPage = 1000

const columns = [
  'timestamp',
  'outcome',
  'status',
  'actor',
  'action',
  'resource_id',
  'rule_name',
  'reason',
  'remote_addr',
  'count'
] as const

const args = Type.Object({
  outcome: Type.Optional(Type.String({ description: 'allow or deny.' })),
  actor: Type.Optional(
    Type.String({ description: 'Only changes and refusals of this user.', values: ['/v1/users', 'user_id'] })
  ),
  action: Type.Optional(
    Type.String({ description: 'Only this action, such as rule.create; rule.*: every action on rules.' })
  ),
  resource: Type.Optional(
    Type.String({
      description: 'Only this object: the id of any, or the name of a rule, also a removed one.'
    })
  ),
  since: Type.Optional(
    Type.String({ description: 'The oldest time: 2026-01-31T12:00:00Z, or 90m, 12h, 7d, 2w ago.' })
  ),
  until: Type.Optional(Type.String({ description: 'The newest time, in the same form.' })),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      description:
        'Most entries to show, newest first. Default 100; --jsonl: all; --follow: 10, or all since --since.'
    })
  ),
  jsonl: Type.Optional(Type.Boolean({ description: 'Print one JSON object per line, for export.' })),
  follow: Type.Optional(
    Type.Boolean({ description: 'Print new entries as they appear, newest last, until interrupted.' })
  )
})
type Args = Static<typeof args>

const audit = defineCommand({
  name: 'audit',
  summary: 'Show changes and refusals, with their actors.',
  examples: [
    'sluice audit --since 24h --outcome deny',
    "sluice audit --actor ann --action 'rule.*' --resource web",
    'sluice audit --follow'
  ],
  args,
  until: 'stopped',
  async run(call) {
    const { args, api, print, signal } = call
    if (args.follow) return follow(call)
    const limit = args.limit ?? (args.jsonl ? Number.POSITIVE_INFINITY : 100)
    const shown: EntryRow[] = []
    for await (const entries of pages(api, toFilter(args), limit, signal)) {
      if (!args.jsonl) shown.push(...entries)
      else for (const entry of entries) print.text(JSON.stringify(entry))
    }
    if (!args.jsonl) print.data(shown, columns)
  }
})

export const commands = [audit]

/** Yields at most `limit` entries, newest first, until the signal is aborted. */
async function* pages(
  api: Api,
  filter: Filter,
  limit: number,
  signal: AbortSignal
): AsyncIterable<readonly EntryRow[]> {
  let left = limit
  for (let cursor: string | undefined = ''; cursor !== undefined && left > 0 && !signal.aborted; ) {
    const query = new URLSearchParams({ ...filter, limit: String(Math.min(left, perPage)), cursor })
    const { entries, next_cursor }: Page = await api.get<Page>(`/v1/audit?${query}`)
    yield entries
    left -= entries.length
    cursor = next_cursor
  }
}

async function follow({ args, api, print, signal }: CommandCall<Args>): Promise<void> {
  if (args.until !== undefined) throw new Fault(wrongUsage, '--follow does not end: omit --until')
  const filter = toFilter(args)
  const format = args.jsonl ? JSON.stringify : formatLine
  let newest: readonly EntryRow[] = [] // entries with the newest time, which the next request returns again
  let limit = args.limit ?? (args.since === undefined ? 10 : Number.POSITIVE_INFINITY)
  while (!signal.aborted) {
    const since = newest[0]?.timestamp
    const shownIds = new Set(newest.map(({ id }) => id))
    const found: EntryRow[] = []
    for await (const entries of pages(api, { ...filter, ...(since && { since }) }, limit, signal))
      found.push(...entries.filter(({ id }) => !shownIds.has(id)))
    for (const entry of found.toReversed()) print.text(format(entry))
    const last = found[0]?.timestamp
    newest = [...found, ...newest].filter(({ timestamp }) => timestamp === (last ?? newest[0]?.timestamp))
    limit = Number.POSITIVE_INFINITY
    await setTimeout(pollMs, undefined, { signal }).catch(() => {}) // aborted: the loop ends
  }
}

const formatLine = (entry: EntryRow): string =>
  escapeControlChars(columns.map(column => String(entry[column] ?? '-')).join('  '))

type Filter = Readonly<Record<string, string>>

/** Returns the query for the API. The server refuses times that it cannot parse. */
function toFilter({ outcome, actor, action, resource, since, until }: Args): Filter {
  const times = Object.entries({ since, until }).map(([key, text]) => [key, text && absoluteTime(text)])
  const given = [...Object.entries({ outcome, actor, action, resource }), ...times]
  return Object.fromEntries(given.filter(([, text]) => text !== undefined))
}
