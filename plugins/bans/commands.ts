import { Type } from '../../kernel/cli/args.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { ClientArg, findClientId } from '../clients/command-exports.ts'
import { findRuleId, pushOptionsSlot, RuleArg } from '../rules/command-exports.ts'

const columns = [
  'source',
  'client_name',
  'rule_id',
  'cause',
  'times',
  'until',
  'state',
  'made_by',
  'reason',
  'ban_id'
]

const add = defineCommand({
  name: 'ban add',
  summary: 'Ban a source from a rule, from a client, or from every client, for a time.',
  examples: ['sluice ban add 198.51.100.7 --client paris --for 24h --reason "scans ports"'],
  args: Type.Object({
    source: Type.String({ description: 'Address or prefix.' }),
    client: Type.Optional(ClientArg),
    rule: Type.Optional(RuleArg),
    for: Type.Optional(Type.String({ description: 'How long: 30s, 10m, 1h, 7d. Default 1h.' })),
    reason: Type.Optional(Type.String({ description: 'Note for other operators.' })),
    keep: Type.Optional(
      Type.Boolean({ description: 'Leave open connections of the source open; default: cut them.' })
    )
  }),
  positional: ['source'],
  async run({ api, args: { source, client, rule, for: time, reason, keep = false }, print }) {
    const { parseDuration } = await import('../cli/command-exports.ts') // `rule push` also loads this file
    const { bans } = await api.call('POST /v1/bans', {
      body: {
        source,
        ...(client !== undefined && { client: await findClientId(api, client) }),
        ...(rule !== undefined && { rule_id: await findRuleId(api, rule) }),
        ...(time !== undefined && { for_secs: parseDuration(time) }),
        ...(reason !== undefined && { reason }),
        ...(keep && { live: 'keep' as const })
      }
    })
    print.data(bans, columns)
  }
})

const list = defineCommand({
  name: 'ban list',
  summary: 'List the bans in force, with their cause and end.',
  examples: ['sluice ban list --client paris', 'sluice ban list --all'],
  args: Type.Object({
    client: Type.Optional(ClientArg),
    rule: Type.Optional(RuleArg),
    all: Type.Optional(
      Type.Boolean({ description: 'Include bans that ended or were lifted within 30 days.' })
    )
  }),
  async run({ api, args: { client, rule, all = false }, print }) {
    const query = {
      ...(client !== undefined && { client: await findClientId(api, client) }),
      ...(rule !== undefined && { rule_id: await findRuleId(api, rule) }),
      ...(all && { state: 'all' as const })
    }
    print.data(await api.rows('GET /v1/bans', { query }), columns)
  }
})

const remove = defineCommand({
  name: 'ban remove',
  aliases: ['lift'],
  summary: 'Lift the bans of a source, or one ban by its id.',
  args: Type.Object({
    source: Type.String({ description: 'Id of a ban, or a source as `ban list` shows it.' })
  }),
  positional: ['source'],
  async run({ api, args: { source }, print }) {
    const bans = await api.rows('GET /v1/bans')
    const matching = bans.filter(ban => ban.source === source || ban.ban_id === source)
    const ids = matching.length === 0 ? [source] : matching.map(({ ban_id }) => ban_id)
    for (const ban_id of ids) await api.call('DELETE /v1/bans/{ban_id}', { path: { ban_id } })
    print.done(`${ids.length === 1 ? 'the ban' : `${ids.length} bans`} of ${source} lifted`, { lifted: ids })
  }
})

const count = (description: string) => Type.Optional(Type.Integer({ minimum: 1, description }))

export const commands = [add, list, remove]
export const fills = [
  pushOptionsSlot.fill({
    args: {
      ban_new_connections: count(
        'Ban a source that opens more connections in a minute, for 10 minutes or longer.'
      ),
      ban_failed_handshakes: count(
        'Ban a source with more failed handshakes in a minute, for 10 minutes or longer.'
      )
    },
    body({ ban_new_connections: new_connections, ban_failed_handshakes: failed_handshakes }) {
      if (new_connections === undefined && failed_handshakes === undefined) return {}
      return {
        ban: {
          ...(new_connections !== undefined && { new_connections }),
          ...(failed_handshakes !== undefined && { failed_handshakes })
        }
      }
    }
  })
]
