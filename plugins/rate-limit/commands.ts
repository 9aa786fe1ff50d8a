import { Type } from '../../kernel/cli/args.ts'
import { type Api, defineCommand } from '../../kernel/cli/command.ts'
import { ClientArg, findClientId } from '../clients/command-exports.ts'
import { findRuleId, pushOptionsSlot, RuleArg } from '../rules/command-exports.ts'
import { UserArg } from '../users/command-exports.ts'
import { ownerLimitsKind } from './document-kind.ts'
import { eachLimit, limitNames } from './limit-names.ts'
import type { EnvelopeRow } from './schema.ts'

const url = '/v1/clients/{client_id}/owners/{owner_id}/rate-limit'
const limitArgs = eachLimit((description, name) =>
  Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description,
      ...(name.startsWith('bandwidth') && { unit: 'bit/s' })
    })
  )
)
const columns = ['client_id', 'owner_id', ...limitNames, 'updated_at']

const set = defineCommand({
  name: 'owner-limit set',
  summary: 'Limit all rules of an owner on a client together.',
  examples: ['sluice owner-limit set ann paris --bandwidth-out-bps 500M --concurrent-connections 1000'],
  args: Type.Object({ owner: UserArg, client: ClientArg, ...limitArgs }),
  positional: ['owner', 'client'],
  async run({ api, args: { client, owner, ...limits }, print }) {
    const { path } = await resolveOwner(api, { client, owner })
    print.data(flat(await api.call(`PUT ${url}`, { path, body: limits })), columns)
  }
})

const show = defineCommand({
  name: 'owner-limit show',
  summary: 'Show the limits for all rules of an owner on a client together.',
  args: Type.Object({ owner: UserArg, client: ClientArg }),
  positional: ['owner', 'client'],
  run: async ({ api, args, print }) =>
    print.data(flat(await api.call(`GET ${url}`, await resolveOwner(api, args))), columns)
})

const list = defineCommand({
  name: 'owner-limit list',
  summary: 'List the owners that have rules or limits on a client.',
  args: Type.Object({ client: ClientArg }),
  positional: ['client'],
  async run({ api, args: { client }, print }) {
    const path = { client_id: await findClientId(api, client) }
    const rows = await api.rows('GET /v1/clients/{client_id}/owners', { path })
    print.data(rows, ['owner_id', 'rule_count', 'has_rate_limit'])
  }
})

const remove = defineCommand({
  name: 'owner-limit delete',
  aliases: ['remove'],
  summary: 'Remove the limits of an owner on a client.',
  args: Type.Object({ owner: UserArg, client: ClientArg }),
  positional: ['owner', 'client'],
  async run({ api, args, print }) {
    const { path, client, owner } = await resolveOwner(api, args)
    await api.call(`DELETE ${url}`, { path })
    print.done(`the rules of ${owner} on ${client} no longer have a common limit`, {
      client,
      owner_id: owner,
      rate_limit: null
    })
  }
})

const setRule = defineCommand({
  name: 'rule set-limit',
  summary: 'Limit a rule, including open connections; without options, remove all its limits.',
  args: Type.Object({ rule: RuleArg, ...limitArgs }),
  positional: ['rule'],
  async run({ api, args: { rule, ...limits }, print }) {
    const path = { rule_id: await findRuleId(api, rule) }
    const parts = { path, body: { rate_limit: limits } }
    const { rate_limit } = await api.call('PUT /v1/rules/{rule_id}', parts)
    print.data({ ...path, ...rate_limit }, ['rule_id', ...limitNames])
  }
})

const pushOptions = pushOptionsSlot.fill({
  args: limitArgs,
  body(args) {
    const given = limitNames.filter(name => args[name] !== undefined)
    return given.length === 0 ? {} : { rate_limit: Object.fromEntries(given.map(name => [name, args[name]])) }
  }
})

export const commands = [set, show, list, remove, setRule]
export const fills = [pushOptions, ownerLimitsKind]

interface OwnerArgs {
  readonly client: string
  readonly owner: string
}

async function resolveOwner(api: Api, { client, owner }: OwnerArgs) {
  const placed = (clientId: string, names: OwnerArgs) => ({
    ...names,
    path: { client_id: clientId, owner_id: names.owner }
  })
  try {
    return placed(await findClientId(api, client), { client, owner })
  } catch (error) {
    // Accepts the former order CLIENT OWNER too.
    const clientId = await findClientId(api, owner).catch(() => null)
    if (clientId === null) throw error
    return placed(clientId, { client: owner, owner: client })
  }
}

const flat = ({ rate_limit, ...row }: EnvelopeRow) => ({ ...row, ...rate_limit })
