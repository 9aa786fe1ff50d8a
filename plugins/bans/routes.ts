import { Type } from 'typebox'
import { clientNotFound, limitReached } from '../../kernel/base/errors.ts'
import { defineRoute } from '../../kernel/http/route.ts'
import { defineList } from '../http/exports.ts'
import { ruleNotFound } from '../rules/exports.ts'
import { type Bans, banNotFound, bansUnsupported } from './bans.ts'
import { invalidBan } from './field.ts'
import { BanBody, BanParams, BanQuery, BanRecord, BansMade } from './schema.ts'

interface Deps {
  readonly bans: Bans
}

const list = defineList({
  url: '/v1/bans',
  action: 'ban.list',
  access: 'viewer',
  summary: 'Lists bans, newest first.',
  schema: () => ({ query: BanQuery, row: BanRecord, errors: [] }),
  run: ({ bans }: Deps, { query }) => bans.list(query)
})

const create = defineRoute({
  method: 'POST',
  url: '/v1/bans',
  action: 'ban.create',
  access: 'operator',
  status: 201,
  summary: 'Bans a source from a rule, from a client, or from every current client.',
  description: 'An offline client gets the ban when it reconnects.',
  schema: () => ({
    body: BanBody,
    reply: BansMade,
    errors: [invalidBan, clientNotFound, ruleNotFound, bansUnsupported, limitReached]
  }),
  run: async ({ bans }: Deps, call) => ({ bans: await bans.create(call.body, call) })
})

const lift = defineRoute({
  method: 'DELETE',
  url: '/v1/bans/:ban_id',
  action: 'ban.lift',
  access: 'operator',
  status: 204,
  summary: 'Lifts a ban that is in force.',
  schema: () => ({ params: BanParams, reply: Type.Void(), errors: [banNotFound] }),
  run: ({ bans }: Deps, call) => bans.lift(call.params.ban_id, call)
})

export const routes = [list, create, lift]
