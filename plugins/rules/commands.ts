import type { Static } from 'typebox'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import { type Column, defineCommand } from '../../kernel/cli/command.ts'
import type { RuleRecord } from './record.ts'
import { columnSlot, pushOptionsSlot } from './slots.ts'

const columnsWith = (more: readonly Column<RuleRecord>[]): readonly Column<RuleRecord>[] => [
  'rule_id',
  'client_name',
  'protocol',
  ['listen', ({ listen_port: from, listen_port_end: to }) => (to === null ? `${from}` : `${from}-${to}`)],
  ...more,
  ['targets', ({ targets }) => targets.map(hostAndPort).join(', ')],
  'owner',
  'state',
  'state_reason'
]

const Rule = Type.String({ description: 'rule_id' })
const Wait = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: 60,
    description: 'How long the server waits for the client; default 5.'
  })
)

const Filter = Type.Object({
  client: Type.Optional(Type.String({ description: 'Id or name of clients.' })),
  owner: Type.Optional(Type.String({ description: 'user_id' }))
})

const push = defineCommand({
  name: 'rule push',
  summary: 'Create a rule: listen on a port of a client, and forward it.',
  args: Type.Object({
    client: Type.String({ description: 'Id of a client, or a name that only one client has.' }),
    listen: Type.String({ description: 'Port on the client, or a range such as 8000-8010.' }),
    target: Type.Array(Type.String(), {
      minItems: 1,
      description: 'host:port or host:port@priority; an IPv6 address in brackets.'
    }),
    protocol: Type.Optional(Type.String({ description: 'tcp (default) or udp' })),
    prefer_ipv6: Type.Optional(Type.Boolean({ description: 'Try the IPv6 addresses of a name first.' })),
    owner: Type.Optional(Type.String({ description: 'user_id; default is the caller.' })),
    ack_timeout_secs: Wait
  }),
  positional: ['client', 'listen', 'target'],
  reads: [pushOptionsSlot],
  extraArgs: filled => Object.assign({}, ...filled(pushOptionsSlot).map(({ value }) => value.args)),
  async run({ api, args, filled, print }) {
    const { client, listen, target, protocol, prefer_ipv6, owner, ack_timeout_secs: secs } = args
    const core = { client, protocol, prefer_ipv6, owner, ...portsOf(listen), targets: target.map(targetOf) }
    const more = filled(pushOptionsSlot).map(({ value }) => value.body(args))
    const body = Object.assign(core, ...more)
    print.data(await api.send<RuleRecord>('POST', `/v1/rules${timeoutQuery(secs)}`, body))
  }
})

const list = defineCommand({
  name: 'rule list',
  summary: 'List the rules.',
  args: Filter,
  reads: [columnSlot],
  async run({ api, args, filled, print }) {
    const query = new URLSearchParams(args).toString()
    const rules = await api.list<RuleRecord>(`/v1/rules${query === '' ? '' : `?${query}`}`)
    print.data(rules, columnsWith(filled(columnSlot).map(({ value }) => value)))
  }
})

const show = defineCommand({
  name: 'rule show',
  summary: 'Show one rule.',
  args: Type.Object({ rule: Rule }),
  positional: ['rule'],
  run: async ({ api, args, print }) => print.data(await api.get<RuleRecord>(pathOf(args.rule)))
})

const remove = defineCommand({
  name: 'rule remove',
  summary: 'Close the port of a rule; its live connections may drain.',
  args: Type.Object({ rule: Rule, ack_timeout_secs: Wait }),
  positional: ['rule'],
  async run({ api, args, print }) {
    await api.send('DELETE', `${pathOf(args.rule)}${timeoutQuery(args.ack_timeout_secs)}`)
    print.line(`rule ${args.rule} is removed`)
  }
})

export const commands = [push, list, show, remove]

const pathOf = (rule: string): string => `/v1/rules/${encodeURIComponent(rule)}`
const timeoutQuery = (secs: Static<typeof Wait> | undefined): string =>
  secs === undefined ? '' : `?ack_timeout_secs=${secs}`

const hostAndPort = ({ host, port }: RuleRecord['targets'][number]): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`

/** Parses a port or a range such as 80-90. */
function portsOf(listen: string) {
  const [, from, to] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(listen) ?? []
  if (from === undefined)
    throw new Fault(wrongUsage, `LISTEN ${listen} is neither a port nor a range such as 80-90`)
  return { listen_port: Number(from), ...(to !== undefined && { listen_port_end: Number(to) }) }
}

/** Parses host:port[@priority]. */
export function targetOf(text: string) {
  const [, host = '', port, priority] = /^(\[[^\]]*\]|[^:@[\]]+):(\d{1,5})(?:@(\d{1,5}))?$/.exec(text) ?? []
  if (port === undefined)
    throw new Fault(
      wrongUsage,
      `TARGET ${text} is not host:port or host:port@priority; an IPv6 host is in brackets`
    )
  return { host, port: Number(port), ...(priority !== undefined && { priority: Number(priority) }) }
}
